"""discreet: publish tables about people, and prove what is protected.

>>> import discreet as dc
>>> dc.KAnonymity(5).title
'k-anonymity'

The public names are those of ``__init__.pyi``. They are imported when first used, so that
``import discreet`` costs nothing.
"""

import lazy_loader

__version__ = "0.1.0"
__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)

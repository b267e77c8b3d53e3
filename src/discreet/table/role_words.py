"""Role words: what names and values of columns say about their roles, in several languages.

Names are looked at without accents and in small letters, with ``_`` between words; of words that
are joined, as in German, their beginnings count.
"""

from __future__ import annotations

import re
import unicodedata
from typing import NamedTuple

from discreet.table.schema import Role

IDENTIFIER = r"""
    id ids uuid guid ssn nin iban mrn passport e?mail phone mobile tel address street
    (first|last|sur|family|full|user|maiden)?_?name insurance_?n\w*
    (vor|nach|familien|geburts)?name strasse anschrift adresse telefon\w* handy\w*
    ausweis\w* kunden_?(nr|nummer|id) personal(nr|nummer) versicherten_?(nr|nummer)
    sozialversicherung\w*
    steuer_?(id|nr|nummer) nom prenom rue telephone portable courriel nir
    numero_(de_)?(securite|client|dossier)\w* nombres? apellidos? direccion calle telefono
    movil correo\w* dni nie nif curp rut cedula nome sobrenome endereco rua telefone
    celular cpf rg nis cognome indirizzo codice_fiscale naam voornaam achternaam adres
    telefoon bsn
"""
PERSON = r"""
    [pu]?id uuid guid ssn nin mrn
    (person|patient|customer|client|member|subject)(_?(no|nr|id|key|number))?
    (respondent|student|employee)(_?(no|nr|id|key|number))?
    (paciente|cliente|kunden?|patienten|mitarbeiter)(_?(nr|id|key|nummer|numero))?
"""
SENSITIVE = r"""
    disease diagnosis diagnoses icd\d* condition illness symptom hiv medication treatment
    salary income wage wages pay earnings debt credit capital religion crime offence grade
    score disab\w* handicap\w* \w*_disability krankheit\w* \w*diagnose\w* diagnosen
    symptome? medikament\w* behandlung\w* gehalt lohn \w*einkommen bezuege schulden
    kredit\w* konfession straftat\w* behinderung\w* \w*verdienst maladie pathologie
    diagnostic symptome medicament\w* traitement salaire revenus? dette\w* remuneration
    enfermedad\w* diagnostico\w* sintoma\w* medicacion tratamiento salario sueldo
    ingresos? renta deuda\w* delito\w* discapacidad doenca\w* medicamento\w* tratamento
    rendimento\w* renda divida\w* religiao crime\w* deficiencia malattia diagnosi reddito
    stipendio ziekte inkomen loon salaris
"""
QUASI_IDENTIFIER = r"""
    age birth\w* dob sex gender race ethnic\w* hispanic latin[ox] zip\w* post\w* city
    town county state region country nationality citizen\w* marital education degree
    school\w* occupation job profession workclass employer industry relationship household
    children language height weight hours veteran\w* immigr\w* migra\w* ancestry
    native\w* alter lebensalter geburt\w* geb geschlecht plz wohnort ort stadt gemeinde
    kreis landkreis bundesland land staatsangeh\w* nationalitaet familienstand bildung\w*
    \w*abschluss schul\w* beruf\w* taetigkeit branche wirtschaftszweig arbeitgeber
    haushalt\w* kinder\w* sprache koerpergroesse groesse gewicht arbeitszeit herkunft
    naissance sexe genre code_postal ville commune departement pays nationalite etat_civil
    situation_(familiale|matrimoniale) etudes diplome metier emploi secteur employeur menage
    enfants langue taille poids annee_(de_)?naissance csp edad nacimiento sexo genero
    codigo_postal ciudad localidad municipio provincia pais nacionalidad estado_civil
    estudios educacion ocupacion profesion empleo hogar hijos idioma estatura altura peso
    etnia raza idade nascimento cep cidade concelho distrito municipio estado regiao uf
    nacionalidade escolaridade instrucao ocupacao profissao domicilio agregado filhos lingua
    cor raca freguesia eta sesso nascita comune cittadinanza istruzione professione leeftijd
    geslacht geboorte\w* postcode woonplaats gemeente opleiding beroep
"""
CODES = r"""
    code codes recode kennziffer schluessel codigo cod zip\w* plz postleitzahl postal\w*
    post_?code code_postal codigo_postal cep industry occupation branche beruf\w*
    wirtschaftszweig naics sic soc isco nace isic fips icd\d* sex gender race ethnic\w*
    hispanic marital relationship religion geschlecht sexe sexo familienstand estado_civil
    etat_civil region state county country cause municipio commune departement provincia
    gemeinde kreis uf cbo cnae
"""
"""What is told by codes, which may be numbers but are no amounts."""
WEIGHT = r"""
    fnlwgt pwgtp\d* wgtp\d* perwt hhwt wtsupp
    (sampl\w*|survey|design|person|household|final)_?(weights?|wgt|wt|factor)
    (replicate|case|instance|expansion|analysis)_?(weights?|wgt|wt|factor)
    (weight|wgt)_(factor|final|sampl\w*) gewichtung\w* hochrechnung\w* ponderation
    poids_(de_)?sondage factor_(de_)?expansion ponderador peso_amostral
    fator_(de_)?(expansao|ponderacao)
"""
"""Names of sampling weights, which are known of nobody."""


def _compile(words: str) -> re.Pattern[str]:
    return re.compile(rf"(?:^|[_\W])({'|'.join(words.split())})(?:$|[_\W])")


NAMES = {role: _compile(words) for role, words in (
    (Role.SENSITIVE, SENSITIVE), (Role.QUASI_IDENTIFIER, QUASI_IDENTIFIER),
    (Role.IDENTIFIER, IDENTIFIER),
)}  # fmt: skip
PERSONS, CODED, WEIGHTS = _compile(PERSON), _compile(CODES), _compile(WEIGHT)
UMLAUTS = str.maketrans({"ä": "ae", "ö": "oe", "ü": "ue", "ß": "ss"})
SEXES = frozenset({
    "m", "f", "w", "d", "h", "x", "male", "female", "man", "woman", "männlich", "weiblich",
    "divers", "homme", "femme", "masculin", "féminin", "hombre", "mujer", "masculino", "femenino",
    "feminino", "maschio", "femmina", "vrouw", "other", "diverse", "non-binary",
})  # fmt: skip


class ValueKind(NamedTuple):
    """What values look like, and so what role their column has."""

    pattern: re.Pattern[str]
    role: Role
    what: str


KINDS = tuple(
    ValueKind(re.compile(pattern), role, what)
    for pattern, role, what in (
        (r"^[^@\s]+@[^@\s]+\.[^@\s]+$", Role.IDENTIFIER, "e-mail addresses"),
        (r"^\d{3}-\d{2}-\d{4}$", Role.IDENTIFIER, "social security numbers"),
        (r"^\d{3}\.\d{3}\.\d{3}-\d{2}$", Role.IDENTIFIER, "numbers of taxpayers (CPF)"),
        (r"^[A-Z]{2}\d{2}[ ]?([A-Z0-9]{4}[ ]?){2,7}[A-Z0-9]{1,4}$", Role.IDENTIFIER, "IBANs"),
        (r"^\d{1,3}(\.\d{1,3}){3}$", Role.IDENTIFIER, "IP addresses"),
        (r"^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$", Role.IDENTIFIER, "UUIDs"),
        (r"^[A-Z]{1,2}\d[A-Z\d]? \d[A-Z]{2}$", Role.QUASI_IDENTIFIER, "British postcodes"),
        (r"^[A-TV-Z]\d[0-9AB]\.[0-9A-Z]{1,4}$", Role.SENSITIVE, "codes of diseases (ICD-10)"),
        (r"^\+?[\d\s()/-]{8,}$", Role.IDENTIFIER, "phone numbers"),
    )
)
"""What all texts of a column may look like, the most telling first."""


def speak(name: str) -> str:
    """Write a name as the words it is made of.

    >>> speak("GeburtsJahr"), speak("Straße"), speak("Prénom du Père"), speak("AGE2")
    ('geburts_jahr', 'strasse', 'prenom_du_pere', 'age_2')
    """
    apart = re.sub(r"(?<=[a-zäöüß])(?=[A-ZÄÖÜ])|(?<=[A-Za-z]{2})(?=\d)", "_", name)
    plain = unicodedata.normalize("NFKD", apart.lower().translate(UMLAUTS))
    return re.sub(r"[^\w]+", "_", "".join(c for c in plain if not unicodedata.combining(c)))

"""Steward: decisions. Plans, inspection, comparison, the ledger, and evidence to sign."""

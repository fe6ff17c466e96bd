"""The ledger of public reports is true, and small inputs of reports that no other test has."""

"""Small cases rebuilt from reported failures, each under its number, asserted through the command line."""

"""From a folder that passed to one commit on the Hub: checks, plan, sending, what is seen afterwards."""

"""The Hub as it answers: one client, its words, an account, a listing, the look at every byte."""

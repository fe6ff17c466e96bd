"""Every reader of a file that somebody else wrote, fed with anything: it reads, or it refuses."""

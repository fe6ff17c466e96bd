"""What a power cut, a full disk and lost rights leave behind, tried at every system call that writes."""

"""What a real llama-server makes of the GGUF drafters that eaglekit writes: `make test-llamacpp`."""

"""Engines that serve EAGLE-3 and that a CPU can run at least in part; `make test-openvino`, `make test-sglang`."""

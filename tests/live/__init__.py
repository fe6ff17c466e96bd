"""What eaglekit says about engines, asked of the engines themselves: `make test-engines`."""

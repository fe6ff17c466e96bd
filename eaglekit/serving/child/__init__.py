"""Scripts that an engine's own Python runs by path: the standard library, torch and the engine, nothing of eaglekit."""

"""Support for the spaces, infos and drawings of Gymnasium and of libraries like it, without importing any of them."""

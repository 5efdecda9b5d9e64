"""Elements to a device: as a framework's arrays, ready before they are asked for."""

"""How elements travel: payloads, the cursors before them, their origins."""

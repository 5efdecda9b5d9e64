"""Image files to pixels: headers, decoders, types of pixels."""

"""Where elements are kept between epochs."""

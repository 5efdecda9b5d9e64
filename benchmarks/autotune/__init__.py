"""What AUTOTUNE makes of six shapes of work from a bad start, beside the best setting by hand and tf.data's AUTOTUNE."""

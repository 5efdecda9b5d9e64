"""``tf.train.Example``: the message, its features, and parsing."""

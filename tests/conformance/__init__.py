"""headrace beside tf.data itself: the same random chains in both, element for element. Needs TensorFlow: ``make conformance``."""

"""The built-in models: an item writer, three guessers and a judge, none of which is a language model."""

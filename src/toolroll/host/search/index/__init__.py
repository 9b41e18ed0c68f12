"""What is known of a tree between two searches: its files, kept up by the kernel's word, and the trigrams in them."""

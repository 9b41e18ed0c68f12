"""Language servers: started when they are needed, kept warm, never believed when their answer may be old."""

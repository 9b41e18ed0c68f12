"""Language models (`chat`) and embedding models (`embedding`)."""

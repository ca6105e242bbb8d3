"""What users pass in: checked arrays, names looked up, keywords of other libraries."""

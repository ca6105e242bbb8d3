"""What users pass in: checked arrays and settings, names looked up, keywords of other libraries."""

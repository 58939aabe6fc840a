"""check_gradient: compares a gradient with central differences."""

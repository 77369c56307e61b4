//! Scopes, types and who is a procedure.

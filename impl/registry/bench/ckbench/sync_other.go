//go:build !unix

package main

// settle does nothing where there is no call for it.
func settle() {}

package elect

// Permutations are all ways to rename n servers.
func Permutations(n int) [][MaxServers]uint8 { return permutations[n] }

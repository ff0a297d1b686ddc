package linear

import "fmt"

// registryParts divides a history of a registry where that is sound. Two operations are of
// one part if they name the same subject, schema or id, or are joined by others that do: a
// schema under two subjects joins these, and so does an id that two schemas were answered
// with. What is left apart has no subject, schema or id in common, and steps read and write
// the state of those that they name alone (an id is free if no schema of the state has it,
// and no other part has that id in any answer). So the state is a product, and orders of the
// parts can be merged: the history is linearizable if and only if each part is.
//
// Neither subjects alone nor ids alone would do. By subjects, an id that two schemas of two
// subjects have would pass. By ids, nothing would be asked of versions, and a registration
// whose answer nobody saw would be of no part.
func registryParts(ops []ObjectOp) []string {
	parent := make(map[string]string)
	root := func(x string) string {
		if _, ok := parent[x]; !ok {
			parent[x] = x
		}
		for parent[x] != x {
			parent[x] = parent[parent[x]]
			x = parent[x]
		}
		return x
	}
	names := func(op *ObjectOp) (list []string) {
		in := op.Input.(*RegistryOp)
		if in.Subject != "" {
			list = append(list, "subject "+in.Subject)
		}
		if in.Schema != "" {
			list = append(list, "schema "+in.Schema)
		}
		if in.ID != 0 && (op.Outcome == Known || in.Kind == ByID) {
			list = append(list, fmt.Sprint("id ", in.ID))
		}
		return list
	}
	for i := range ops {
		list := names(&ops[i])
		for _, name := range list {
			if a, b := root(name), root(list[0]); a < b { // the first by name stands for all
				parent[b] = a
			} else {
				parent[a] = b
			}
		}
	}
	parts := make([]string, len(ops))
	for i := range ops {
		if list := names(&ops[i]); len(list) > 0 {
			parts[i] = root(list[0])
		}
	}
	return parts
}

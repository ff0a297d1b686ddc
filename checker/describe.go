package checker

import (
	"fmt"
	"slices"
)

// describe lists the parts of a state of a System. A message is a field of its
// own, whose path is its text, so that messages do not seem to change when one
// before them is taken.
func describe[R, M, G comparable](sys System[R, M, G], processes []*R, network []*M, ghost *G, spent func(Budget) uint8) []Field {
	info := sys.Info()
	var list []Field
	for i, r := range processes {
		list = append(list, prefixedFields(info.processName(i), sys.DescribeProcess(r))...)
	}
	var texts []string
	for _, m := range network {
		texts = append(texts, sys.DescribeMessage(m))
	}
	slices.Sort(texts)
	for i := 0; i < len(texts); {
		n := i
		for n < len(texts) && texts[n] == texts[i] {
			n++
		}
		value := "in flight"
		if n-i > 1 {
			value = fmt.Sprintf("in flight, %d copies", n-i)
		}
		list = append(list, Field{"network." + texts[i], value})
		i = n
	}
	list = append(list, prefixedFields("ghost", sys.DescribeGhost(ghost))...)
	for b := 1; b < len(info.Budgets); b++ {
		if info.Budgets[b].Limit == 0 {
			continue // the model does not have these steps
		}
		list = append(list, budgetField(info, Budget(b), spent(Budget(b))))
	}
	return list
}

func budgetField(info *Info, b Budget, spent uint8) Field {
	return Field{"budget." + info.Budgets[b].Name, fmt.Sprintf("%d of %d", spent, info.Budgets[b].Limit)}
}

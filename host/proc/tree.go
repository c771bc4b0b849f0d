package proc

import "slices"

// below is every live process below root.
func below(root int, all []resident) []resident {
	return descend([]int{root}, all, nil)
}

// descend is the live processes below the roots, and those that also picks with
// what is below them. Neither this process nor a zombie is among them.
func descend(roots []int, all []resident, also func(resident) bool) []resident {
	children := map[int][]resident{}
	var out []resident
	in := map[int]bool{ownPID: true}
	add := func(p resident) {
		if !in[p.pid] {
			in[p.pid] = true
			out = append(out, p)
		}
	}
	for _, p := range all {
		children[p.ppid] = append(children[p.ppid], p)
		if also != nil && p.pid != ownPID && also(p) {
			add(p)
		}
	}
	for _, root := range roots {
		for _, p := range children[root] {
			add(p)
		}
	}
	for i := 0; i < len(out); i++ {
		for _, p := range children[out[i].pid] {
			add(p)
		}
	}
	return slices.DeleteFunc(out, func(p resident) bool { return p.zombie })
}

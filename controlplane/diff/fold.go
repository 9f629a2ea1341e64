package diff

// around is how many steps that are the same stay unfolded before and after one that is not.
const around = 2

// Stretch is a step, or several that are the same and are not near to one that is not.
type Stretch struct {
	// First is the index of the first step.
	First int
	// Folded is how many steps it is, 0 for a single one that is not folded.
	Folded int
}

// Stretches folds the steps from the one at `from` on. Steps above one that is not the same stay.
func (d *Diff) Stretches(from int) []Stretch {
	keep, shown := make([]bool, len(d.Steps)), make([]bool, len(d.Steps)) // shown: with all above it
	for i := range d.Steps {
		if d.Steps[i].State == Same {
			continue
		}
		for j := max(0, i-around); j <= min(len(keep)-1, i+around); j++ {
			keep[j] = true
		}
		for above := d.Steps[i].Above; above >= 0 && !shown[above]; above = d.Steps[above].Above {
			keep[above], shown[above] = true, true
		}
	}
	var stretches []Stretch
	for i := from; i < len(d.Steps); {
		if keep[i] {
			stretches = append(stretches, Stretch{First: i})
			i++
			continue
		}
		end := i
		for end < len(d.Steps) && !keep[end] {
			end++
		}
		stretches = append(stretches, Stretch{First: i, Folded: end - i})
		i = end
	}
	return stretches
}

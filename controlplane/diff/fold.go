package diff

// around is how many equal steps stay unfolded before and after one that is not.
const around = 2

// Stretch is a step, or several equal steps that are not near to one that is not.
type Stretch struct {
	// First is the index of the first step.
	First int
	// Folded is the number of steps, 0 for a single one that is not folded.
	Folded int
}

// Stretches folds the steps from an index on. The parents of steps that are not the same stay unfolded.
func (d *Diff) Stretches(from int) []Stretch {
	keep, shown := make([]bool, len(d.Steps)), make([]bool, len(d.Steps)) // shown: with all its parents
	for i := range d.Steps {
		if d.Steps[i].State == Same {
			continue
		}
		for j := max(0, i-around); j <= min(len(keep)-1, i+around); j++ {
			keep[j] = true
		}
		for parent := d.Steps[i].Parent; parent >= 0 && !shown[parent]; parent = d.Steps[parent].Parent {
			keep[parent], shown[parent] = true, true
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

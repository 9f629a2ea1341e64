package replay

// Cone returns for each step whether it can depend on a change of the steps from: those steps themselves, all later steps
// of their loops, steps whose input has their output, their descendants, and steps that link to them; of each of these
// the same; and the frames around. A difference at another step cannot come from the change.
func (r *Recording) Cone(from []int) []bool { return r.cone(from) }

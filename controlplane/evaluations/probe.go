package evaluations

// CanaryKey is the key of the vote of a judge on its canary.
func CanaryKey(p, j int) VoteKey {
	return VoteKey{Number: canaryNumber, Side: SideA, Repeat: 1, Panel: p, Judge: j, Vote: 1}
}

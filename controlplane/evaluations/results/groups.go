package results

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/looptrace/looptrace/controlplane/evaluations"
)

// groupPage is how many items are read at once.
const groupPage = 500

// group reads which items belong together: those with the same value at the path of the evaluation. An item without one, or with null,
// belongs to no other.
func (s *Reader) group(ctx context.Context, r *Results, stored []storedItem) error {
	if r.config.GroupBy == "" {
		return nil
	}
	path, groups := strings.Split(r.config.GroupBy, "."), map[string]int{}
	for page := range slices.Chunk(stored, groupPage) {
		numbers, ordinals := make(map[int64]int32, len(page)), make([]int64, len(page))
		for i := range page {
			numbers[page[i].Ordinal], ordinals[i] = page[i].Number, page[i].Ordinal
		}
		items, err := s.datasets.ItemsAt(ctx, r.e.DatasetID, r.e.Revision, ordinals)
		if err != nil {
			return err //nolint:wrapcheck // it names the statement
		}
		for i := range items {
			value, ok, err := evaluations.ValueAt(&items[i], path)
			if err != nil {
				return err
			}
			number := numbers[items[i].Ordinal]
			if !ok || value == nil || int(number) > len(r.Items) {
				continue
			}
			key, err := json.Marshal(value)
			if err != nil {
				return fmt.Errorf("encode the group of an item: %w", err)
			}
			if groups[string(key)] == 0 {
				groups[string(key)] = len(groups) + 1
			}
			r.Items[number-1].Group = groups[string(key)]
		}
	}
	return nil
}

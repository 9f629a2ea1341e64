package evaluations

import (
	"context"
	"strings"

	"github.com/looptrace/looptrace/internal/problem"
)

// checkGroupBy checks the path in an item by which items belong together.
func checkGroupBy(path string) error {
	parts := strings.Split(path, ".")
	if root := parts[0]; path != "" && root != rootInput && root != rootReference && root != rootMetadata {
		return problem.InvalidField("body.group_by", "must begin with input, reference_output or metadata, such as metadata.customer")
	}
	return nil
}

// group reads which items belong together. An item without a value belongs to no other.
func (s *Service) group(ctx context.Context, e *Evaluation, config *Config, r *results, stored []storedItem) error {
	if config.GroupBy == "" {
		return nil
	}
	ordinals := make([]int64, len(stored))
	for i := range stored {
		ordinals[i] = stored[i].Ordinal
	}
	parts := strings.Split(config.GroupBy, ".")
	values, err := s.datasets.ValuesAt(ctx, e.DatasetID, e.Revision, ordinals, parts[0], parts[1:])
	if err != nil {
		return err //nolint:wrapcheck // it names the statement
	}
	groups := map[string]int{}
	for _, one := range stored {
		value, ok := values[one.Ordinal]
		if !ok || int(one.Number) > len(r.items) {
			continue
		}
		if groups[value] == 0 {
			groups[value] = len(groups) + 1
		}
		r.items[one.Number-1].group = groups[value]
	}
	return nil
}

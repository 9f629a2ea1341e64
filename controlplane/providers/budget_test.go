package providers

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
)

func TestSpend(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := NewBudget(new(Money(100)), 40)
		began, end, first := make(chan struct{}), make(chan struct{}), make(chan error)
		go func() {
			first <- b.Spend(t.Context(), new(Money(25)), 2, func(maxCost *Money, attempts int) (Money, error) {
				if *maxCost != 50 || attempts != 2 {
					t.Errorf("the first call may cost %d in %d attempts", *maxCost, attempts)
				}
				close(began)
				<-end
				return 20, nil
			})
		}()
		<-began
		second := make(chan error)
		go func() { // 10 are left, and 30 come back
			second <- b.Spend(t.Context(), new(Money(30)), 2, func(maxCost *Money, attempts int) (Money, error) {
				if *maxCost != 30 || attempts != 1 {
					t.Errorf("the second call may cost %d in %d attempts", *maxCost, attempts)
				}
				return 30, context.DeadlineExceeded
			})
		}()
		synctest.Wait()
		close(end)
		if err := <-first; err != nil {
			t.Error(err)
		}
		if err := <-second; !errors.Is(err, context.DeadlineExceeded) {
			t.Error("the error of a call is lost:", err)
		}
		if b.Spent() != 90 {
			t.Error("spent:", b.Spent())
		}
		called := func(*Money, int) (Money, error) { t.Error("it was called without money"); return 0, nil }
		if err := b.Spend(t.Context(), new(Money(11)), 1, called); !errors.Is(err, ErrSpent) || !errors.Is(err, ErrMaxCost) {
			t.Error(err)
		}
	})
}

func TestSpendWithoutACap(t *testing.T) {
	called := false
	err := NewBudget(nil, 0).Spend(t.Context(), new(Money(1)), 3, func(maxCost *Money, attempts int) (Money, error) {
		called = maxCost == nil && attempts == 3
		return 1, nil
	})
	if err != nil || !called {
		t.Error(err, called)
	}
}

package rules

// codeFilter says that the filter of a rule cannot be read.
const codeFilter = "run_filter_invalid"

// remedies say what to do about why a rule stopped.
var remedies = map[string]string{
	codeFilter:                   "Correct the filter of the rule, then resume it.",
	"provider_deleted":           "Give the judge another connection, then resume the rule.",
	"provider_key_refused":       "Enter a valid API key in Settings → Providers, then resume the rule.",
	"provider_key_unreadable":    "Enter the API key of the connection again in Settings → Providers, then resume the rule.",
	"provider_permission_denied": "Use an API key that may call the model of the judge, then resume the rule.",
	"provider_quota_exceeded":    "Add quota to the account at the provider, then resume the rule.",
	"model_not_found":            "Correct the name of the judge's model, then resume the rule.",
	"parameter_refused":          "Correct the parameters of the judge's model, then resume the rule.",
	"address_not_allowed":        "Correct the base address of the connection, or allow it, then resume the rule.",
	"price_unknown":              "Give the model of the judge a price in Settings → Prices, or set allow_unpriced, then resume the rule.",
	"budget_exceeded":            "Raise the monthly budget of the connection, or wait for the next month, then resume the rule.",
}

func remedyOf(code string) string {
	if remedy, ok := remedies[code]; ok {
		return remedy
	}
	return "Correct the judge as the detail says, then resume the rule."
}

// SPDX-License-Identifier: Apache-2.0

package apply

// FieldValidation is the treatment of unknown fields, with the values of the API server's query
// parameter fieldValidation.
type FieldValidation string

// The values of FieldValidation.
const (
	// FieldValidationStrict rejects unknown fields. It is the default.
	FieldValidationStrict FieldValidation = "Strict"
	// FieldValidationWarn drops unknown fields with a warning, which is sent as progress.
	FieldValidationWarn FieldValidation = "Warn"
)

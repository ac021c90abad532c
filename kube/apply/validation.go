// SPDX-License-Identifier: Apache-2.0

package apply

// FieldValidation says what becomes of fields that the API server does not know, as its
// query of the same name does.
type FieldValidation string

// The ways to validate fields.
const (
	// FieldValidationStrict makes such fields an error. It is the default.
	FieldValidationStrict FieldValidation = "Strict"
	// FieldValidationWarn makes them warnings, which are reported as progress.
	FieldValidationWarn FieldValidation = "Warn"
)

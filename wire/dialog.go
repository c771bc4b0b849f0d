package wire

// DialogSpec is one question, discriminated by its JSON "method". A closed
// union: [*SelectDialog], [*ConfirmDialog], [*InputDialog], [*EditorDialog],
// [*QuestionnaireDialog]. No text of a dialog is markdown. Timeouts are in
// milliseconds; zero is none.
type DialogSpec interface {
	// Method is the member's name on the wire.
	Method() string
	// TimeoutMs is the asker's own deadline in milliseconds, 0 for none.
	TimeoutMs() int64
	dialog()
}

// SelectDialog asks for one of Options (at least one). Message is preformatted.
type SelectDialog struct {
	Title   string   `json:"title"`
	Options []string `json:"options"`
	Message string   `json:"message,omitempty"`
	Timeout int64    `json:"timeout,omitempty"`
}

// ConfirmDialog asks for a yes or a no.
type ConfirmDialog struct {
	Title   string `json:"title"`
	Message string `json:"message"`
	Timeout int64  `json:"timeout,omitempty"`
}

// InputDialog asks for a line of text. Secret, Message and Link are set only by
// the host, or by an adapter that lifts the vendor's own credential prompt.
type InputDialog struct {
	Title       string      `json:"title"`
	Placeholder string      `json:"placeholder,omitempty"`
	Secret      bool        `json:"secret,omitempty"`
	Message     string      `json:"message,omitempty"`
	Link        *DialogLink `json:"link,omitempty"`
	Timeout     int64       `json:"timeout,omitempty"`
}

// DialogLink is the page to open to get an answer.
type DialogLink struct {
	URL   string `json:"url"`
	Label string `json:"label,omitempty"`
}

// EditorDialog asks for a text of any length.
type EditorDialog struct {
	Title   string `json:"title"`
	Prefill string `json:"prefill,omitempty"`
}

// QuestionnaireDialog asks a set of questions at once; headers are unique in it.
type QuestionnaireDialog struct {
	Title     string     `json:"title"`
	Questions []Question `json:"questions"`
}

// Question is one of a questionnaire: two to four options, labels unique in it.
type Question struct {
	Header      string           `json:"header"`
	Question    string           `json:"question"`
	Options     []QuestionOption `json:"options"`
	MultiSelect bool             `json:"multiSelect"`
}

// QuestionOption is one choice and what choosing it means.
type QuestionOption struct {
	Label       string `json:"label"`
	Description string `json:"description"`
}

// OpenDialog is a question while it waits, keyed by the id its answer names.
type OpenDialog struct {
	ID     string     `json:"id"`
	Dialog DialogSpec `json:"dialog"`
}

// Method is "select".
func (*SelectDialog) Method() string { return "select" }

// Method is "confirm".
func (*ConfirmDialog) Method() string { return "confirm" }

// Method is "input".
func (*InputDialog) Method() string { return "input" }

// Method is "editor".
func (*EditorDialog) Method() string { return "editor" }

// Method is "questionnaire".
func (*QuestionnaireDialog) Method() string { return "questionnaire" }

// TimeoutMs is the asker's deadline.
func (d *SelectDialog) TimeoutMs() int64 { return d.Timeout }

// TimeoutMs is the asker's deadline.
func (d *ConfirmDialog) TimeoutMs() int64 { return d.Timeout }

// TimeoutMs is the asker's deadline.
func (d *InputDialog) TimeoutMs() int64 { return d.Timeout }

// TimeoutMs is always 0: an editor has no deadline.
func (*EditorDialog) TimeoutMs() int64 { return 0 }

// TimeoutMs is always 0: a questionnaire has no deadline.
func (*QuestionnaireDialog) TimeoutMs() int64 { return 0 }

func (*SelectDialog) dialog()        {}
func (*ConfirmDialog) dialog()       {}
func (*InputDialog) dialog()         {}
func (*EditorDialog) dialog()        {}
func (*QuestionnaireDialog) dialog() {}

// Answer is an answer to an open dialog: its id and exactly one arm.
type Answer struct {
	ID  string
	Arm AnswerArm
}

// AnswerArm is what was answered. A closed union, its arms exclusive on the
// wire: [*CancelArm], [*ValueArm], [*ConfirmArm], [*AnswersArm].
type AnswerArm interface{ arm() }

// CancelArm declines ({cancelled: true}).
type CancelArm struct{}

// ValueArm answers a select, an input or an editor ({value}). It may be a
// credential, so it redacts itself wherever it is printed.
type ValueArm struct{ Value Secret }

// ConfirmArm answers a confirm ({confirmed}).
type ConfirmArm struct{ Confirmed bool }

// AnswersArm answers a questionnaire ({answers}), one for each question in order.
type AnswersArm struct{ Answers []QuestionAnswer }

// QuestionAnswer is what was chosen for one question: labels, and, for "other",
// the person's own words.
type QuestionAnswer struct {
	Selected []string `json:"selected"`
	Other    *string  `json:"other,omitempty"`
}

func (*CancelArm) arm()  {}
func (*ValueArm) arm()   {}
func (*ConfirmArm) arm() {}
func (*AnswersArm) arm() {}

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/result.h"
#include "core/engine/question/question.h"
#include "core/formats/modelcard.h"
#include "core/trace/run.h"

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace retro::engine
{

/// Verbs of the command line, and the window's own; as bits.
enum Verb : std::uint32_t {
    kInfo = 1U << 0U,
    kRun = 1U << 1U,
    kGrad = 1U << 2U,
    kVerify = 1U << 3U,
    kExplain = 1U << 4U,
    kEvaluate = 1U << 5U,
    kPlanning = 1U << 6U, ///< analyze, plan, simulate
    kWindow = 1U << 7U,   ///< the command line of `retrograde`
    kDiagnose = 1U << 8U
};

/// The name of each verb, for lists.
struct VerbName
{
    Verb verb;
    std::string_view name;
};
/// The names of all verbs.
[[nodiscard]] std::span<const VerbName> verbNames();

/// One of the texts that a field takes.
struct FieldChoice
{
    std::string_view text;
    std::string_view title = {}; ///< in the run panel
};

/// How a field counts where a result is asked whether it answers a question (core/engine/results/resultkey.h).
enum class KeyPart {
    Text,     ///< its texts
    Content,  ///< its text, and the content of the file where it names one
    FileName, ///< the name of its file, without folder
    None      ///< the model or the inputs stand for it, or it changes nothing that is written
};

/// Where a model card keeps a field.
struct CardEntry
{
    std::vector<std::string> (*read)(const formats::ModelCard& card);
    void (*write)(std::span<const std::string> texts, formats::ModelCard& card);
    bool fillsIn = true; ///< what nobody said is taken from the card; else only the window opens a model with it
};

/// A field of a question: everything that clients know of it.
struct QuestionField
{
    using Member = std::variant<std::string Question::*, std::vector<std::string> Question::*, bool Question::*>;

    std::string_view name; ///< of the option, without the dashes; of a recorded question
    Member member;
    std::uint32_t verbs; ///< those that take it as an option
    std::string_view help;
    std::vector<FieldChoice> choices = {}; ///< none: any text
    bool isOpen = false;                   ///< other texts are taken beside the choices
    base::Result<void> (*check)(const std::string& text) = nullptr;
    bool takesSeveral = false;   ///< a list: several texts behind one option
    char separator = 0;          ///< a list: what may stand between them; 0 = nothing but a space
    std::string_view usual = {}; ///< what is meant where neither a person nor a card says it
    std::string_view group = {}; ///< of options that ask for one thing together, as combinations.h names it
    std::string_view title = {}; ///< in the run panel; empty = it has no field of its own there
    std::string_view tip = {};   ///< in the run panel
    std::optional<CardEntry> card = std::nullopt;
    std::string trace::RunFacts::*fact = nullptr; ///< where a run file keeps it
    KeyPart key = KeyPart::Text;
    std::string_view output = {}; ///< names a file that is written: what that is, "the run"
    bool isOfTexts = false;       ///< in the run panel: shown for models that read texts alone
    bool isLong = false;          ///< there: several lines
};

/// All fields, in the order of --help.
[[nodiscard]] std::span<const QuestionField> questionFields();
/// What a field is about, as --help groups them: "Input", "Rules".
[[nodiscard]] std::string_view sectionOf(const QuestionField& field);
/// The field of that name that `verbs` (any, when 0) take. Must be there.
[[nodiscard]] const QuestionField& questionField(std::string_view name, std::uint32_t verbs = 0);

/// What a field says, as texts; none = nothing was said. A switch that is on says "on".
[[nodiscard]] std::vector<std::string> textsOf(const QuestionField& field, const Question& question);
/// Makes a field say that; of several texts a field that is no list takes the first.
void setTexts(const QuestionField& field, std::span<const std::string> texts, Question& question);
/// Whether a field takes a text. Errors (Usage): it is none of the choices, no number …
[[nodiscard]] base::Result<void> checkText(const QuestionField& field, const std::string& text);

/// Makes a question say of its text what another one says (QuestionField::isOfTexts).
void takeTexts(const Question& from, Question& to);
/// Whether a question names a text: by words, by numbers.
[[nodiscard]] bool namesText(const Question& question);

/// Numbers as fields have them: without loss, "none" for no numbers at all.
[[nodiscard]] std::vector<std::string> writtenNumbers(std::span<const double> numbers);
/// The numbers of such texts. Errors: Usage.
[[nodiscard]] base::Result<std::vector<double>> readNumbers(std::span<const std::string> texts);
/// The number of a text. Errors: Usage.
[[nodiscard]] base::Result<double> readNumber(const std::string& text);

/// The question that a recorded run answers, as far as its file keeps it.
[[nodiscard]] Question recordedQuestion(const trace::Run& run);
/// Writes what a run file keeps of a question.
void keepQuestion(const Question& question, trace::RunFacts& facts);
/// What a model is opened with: all that its card keeps, also what fills nothing in on the command line.
[[nodiscard]] Question openedWith(const formats::ModelCard& card);
/// Writes what a card keeps of a question; `question` says everything (engine/question/resolve.h).
void keepQuestion(const Question& question, formats::ModelCard& card);
/// Whether a card would keep the same of both.
[[nodiscard]] bool isSameInCard(const Question& a, const Question& b);

} // namespace retro::engine

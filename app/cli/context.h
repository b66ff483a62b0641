// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/exitcode.h"
#include "core/base/record.h"
#include "core/base/result.h"
#include "core/engine/explain/explain.h"
#include "core/engine/question/fields.h"

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include <functional>
#include <string>
#include <vector>

namespace retro::app
{

/// An option that names a file to write.
struct OutputOption
{
    const CLI::Option* option = nullptr;
    std::string what;     ///< in messages: "the table"
    bool isGrown = false; ///< the file gets more than one write
};

/// Options that every verb has, and what the process will answer.
struct Context
{
    std::string program = "retrograde-cli"; ///< what errors begin with
    bool json = false;                      ///< an answer for machines, or a page of it
    bool isPage = false;                    ///< that answer as Markdown
    bool quiet = false;
    int threads = 0; ///< 0 = as many as the machine has
    std::string precision = "auto";
    std::string memory; ///< what tensors may take, as written; empty = the usual share of the machine's memory
    int exitCode = 0;
    mutable bool hasAnswered = false;
    std::vector<std::string> arguments; ///< of the program, its own name first
    std::vector<OutputOption> outputs;  ///< of all verbs, beside those of questions

    /// Makes an option one that names a file to write.
    CLI::Option* addOutput(CLI::Option* option, std::string what, bool isGrown = false);

    /// Threads that the process computes with.
    [[nodiscard]] int usedThreads() const;

    /// A line for people: standard output, or standard error when --json asked for a clean standard output; nothing
    /// with --quiet.
    void say(const std::string& line) const;
    /// The machine-readable result on standard output, as JSON or as a page.
    void answer(const nlohmann::ordered_json& result) const;
    /// Records as a table for people, below the heads of its columns where there are any.
    template <class Record, class Records>
    void table(const base::Fields<Record>& fields, const Records& records) const
    {
        const std::string heads = fields.heads();
        if (const std::size_t last = heads.find_last_not_of(' '); last != std::string::npos) {
            say(heads.substr(0, last + 1));
        }
        for (const Record& record : records) {
            say(fields.line(record));
        }
    }
    /// Records as the whole answer: a list for machines, or that table.
    template <class Record, class Records>
    void list(const base::Fields<Record>& fields, const Records& records) const
    {
        json ? answer(fields.list(records)) : table(fields, records);
    }
    /// Says why the call ends: on standard error and, where an answer for machines was asked for and none was given, as
    /// that answer: `error`, `remedy` (what stands behind the last semicolon), `place`, `exit`. Sets the exit code.
    void fail(const base::Error& error);
    /// Stage and share on a terminal's standard error; silent elsewhere.
    [[nodiscard]] engine::StageProgress progress() const;
};

/// Sentences for people on standard error, each as a warning; also with --quiet: what was asked for is not what is
/// done.
void warn(const std::vector<std::string>& sentences);

using base::exitCodeOf;
/// The error that an exit code stands for.
[[nodiscard]] base::ErrorCode errorCodeOf(int exitCode);

/// Adds a verb with the common options; `action` runs when it was chosen, its error is printed and becomes the exit
/// code.
CLI::App* addVerb(CLI::App& program, Context& context, const std::string& name, const std::string& description,
                  std::function<base::Result<void>()> action);
/// The common options and the action, for a program that does one thing.
void addCommonOptions(CLI::App& verb, Context& context, std::function<base::Result<void>()> action);

/// An option that takes a size as people write it (base::parseBytes), at least 1 byte, and hands it to `take`.
CLI::Option* addBytesOption(CLI::App& verb, const std::string& name, std::function<void(std::uint64_t)> take,
                            const std::string& description);

/// What CLI11 takes for a number but is none that can be counted with: nan, inf, -1 for a count (which would wrap).
CLI::Validator wholeNumber();
CLI::Validator finiteNumber(double least, double most);
/// A finite number above 0.
CLI::Validator positiveNumber();

/// MODEL and what is asked of it, as verbs take it.
struct ModelOptions
{
    std::string model;
    std::vector<std::string> files; ///< inputs that stand behind the model, without --input
    engine::Question question;

    /// MODEL, and the options of the fields that the verb takes. Must live as long as the verb.
    void addTo(CLI::App& verb, engine::Verb which, const Context& context);
    /// Reads the model as the question says (engine::loadModel); operators that are passed through are named as
    /// warnings.
    [[nodiscard]] base::Result<engine::LoadedModelPointer> load() const;
    /// The tensors of the question's inputs. `run` and `grad`, whose results do not say it, then say how pixels became
    /// numbers, and warn where the model shows to expect others.
    [[nodiscard]] base::Result<std::vector<tensor::Tensor>> resolve(const engine::LoadedModel& model) const;
    /// The same; where none is named, zeros of the declared shapes (free axes: small ones), for what runs nothing.
    [[nodiscard]] base::Result<std::vector<tensor::Tensor>> resolveOrZeros(const engine::LoadedModel& model) const;
    /// Says how the pixels of pictures became these inputs.
    void sayPictures(const Context& context, const engine::LoadedModel& model,
                     const std::vector<tensor::Tensor>& inputs) const;

private:
    const Context* m_context = nullptr; ///< of a verb that says of pictures what became of them as they are read
};

void addOps(CLI::App& program, Context& context);
void addInfo(CLI::App& program, Context& context);
void addRun(CLI::App& program, Context& context);
void addExplain(CLI::App& program, Context& context);
void addTrace(CLI::App& program, Context& context);
void addAudit(CLI::App& program, Context& context);
void addCompare(CLI::App& program, Context& context);
void addDiagnose(CLI::App& program, Context& context);
void addEvaluate(CLI::App& program, Context& context);
void addExport(CLI::App& program, Context& context);
void addLut(CLI::App& program, Context& context);
void addAnalyze(CLI::App& program, Context& context);
void addPlan(CLI::App& program, Context& context);
void addSimulate(CLI::App& program, Context& context);

} // namespace retro::app

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/result.h"
#include "core/engine/explain.h"
#include "core/engine/pictureinput.h"

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include <functional>
#include <string>
#include <vector>

namespace retro::app
{

/// Options that every verb has, and what the process will answer.
struct Context
{
    bool json = false;
    bool quiet = false;
    int threads = 0; ///< 0 = as many as the machine has
    std::string precision = "auto";
    std::string memory; ///< what tensors may take, as written; empty = the usual share of the machine's memory
    int exitCode = 0;
    std::vector<std::string> arguments; ///< of the program, its own name first

    /// Threads that the process computes with.
    [[nodiscard]] int usedThreads() const;

    /// What a model is computed in: as --precision says, else as its types say.
    [[nodiscard]] execute::Precision runPrecision(const engine::LoadedModel& model) const;
    /// A line for people: standard output, or standard error when --json asked for a clean standard output; nothing
    /// with --quiet.
    void say(const std::string& line) const;
    /// The machine-readable result on standard output.
    void answer(const nlohmann::ordered_json& result) const;
    /// Stage and share on a terminal's standard error; silent elsewhere.
    [[nodiscard]] engine::StageProgress progress() const;
};

/// Sentences for people on standard error, each as a warning; also with --quiet: what was asked for is not what is
/// done.
void warn(const std::vector<std::string>& sentences);

/// Exit code of docs/cli.md for an error.
[[nodiscard]] int exitCodeOf(base::ErrorCode code);
/// The error that an exit code stands for.
[[nodiscard]] base::ErrorCode errorCodeOf(int exitCode);

/// Adds a verb with the common options; `action` runs when it was chosen, its error is printed and becomes the exit
/// code.
CLI::App* addVerb(CLI::App& program, Context& context, const std::string& name, const std::string& description,
                  std::function<base::Result<void>()> action);

/// An option that takes a size as people write it (base::parseBytes), at least 1 byte, and hands it to `take`.
CLI::Option* addBytesOption(CLI::App& verb, const std::string& name, std::function<void(std::uint64_t)> take,
                            const std::string& description);

/// Model and inputs, as several verbs take them.
struct ModelOptions
{
    std::string model;
    std::vector<std::string> inputs;
    std::vector<std::string> shapes; ///< of inputs: NAME=2x3x48x192
    bool noWeights = false;
    std::vector<double> mean;
    std::vector<double> deviation;
    std::string layout;
    bool noFold = false;
    bool noMerge = false;
    std::vector<std::string> switchedOff; ///< rewrites by name
    std::vector<std::string> switchedOn;  ///< optional ones by name
    bool passThrough = false;             ///< operators that are not implemented hand their operand on

    void addTo(CLI::App& verb);
    /// Only MODEL and the rewrite switches.
    void addModelTo(CLI::App& verb);
    [[nodiscard]] base::Result<engine::LoadedModelPointer> load() const;
    [[nodiscard]] base::Result<std::vector<tensor::Tensor>> resolve(const engine::LoadedModel& model) const;
    [[nodiscard]] engine::PictureOptions pictureOptions(const engine::LoadedModel& model) const;
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
void addBench(CLI::App& program, Context& context);

} // namespace retro::app

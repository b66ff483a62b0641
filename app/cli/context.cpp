// SPDX-License-Identifier: Apache-2.0
#include "app/cli/context.h"

#include "app/common/helptext.h"
#include "app/common/questionoptions.h"
#include "core/base/bytesize.h"
#include "core/base/failure.h"
#include "core/base/inputfiles.h"
#include "core/base/jsonout.h"
#include "core/base/mappedfile.h"
#include "core/base/markdown.h"
#include "core/base/memorylimit.h"
#include "core/base/standardstreams.h"
#include "core/engine/explainer/relevancewriter.h"
#include "core/engine/question/resolve.h"
#include "core/formats/modelfile.h"
#include "core/ops/threads.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <limits>
#include <sstream>
#include <thread>
#include <unistd.h>

namespace retro::app
{

using base::Result;

CLI::Option* Context::addOutput(CLI::Option* option, std::string what, bool isGrown)
{
    outputs.push_back({option, std::move(what), isGrown});
    return option->type_name(kOutputType);
}

int Context::usedThreads() const
{
    const unsigned all = std::max(1U, std::thread::hardware_concurrency());
    return threads > 0 ? threads : static_cast<int>(all);
}

void Context::say(const std::string& line) const
{
    if (!quiet && json) {
        base::sayErrorLine(line);
    } else if (!quiet) {
        base::sayLine(line);
    }
}

void Context::fail(const base::Error& error)
{
    base::sayErrorLine(program + ": " + error.text());
    exitCode = exitCodeOf(error.code);
    if (!json || hasAnswered) {
        return;
    }
    const std::size_t end = error.message.rfind("; ");
    const bool hasRemedy = end != std::string::npos;
    answer({{"error", hasRemedy ? error.message.substr(0, end) : error.message},
            {"remedy", hasRemedy ? nlohmann::ordered_json(error.message.substr(end + 2)) : nullptr},
            {"place", error.where},
            {"exit", exitCode}});
}

void Context::answer(const nlohmann::ordered_json& result) const
{
    hasAnswered = true;
    std::string title = program;
    for (std::size_t i = 1; i < arguments.size(); ++i) {
        title += ' ' + arguments[i];
    }
    std::istringstream lines(isPage ? base::markdownOf(result, title) : base::jsonOut(result, 2));
    for (std::string line; std::getline(lines, line);) {
        base::sayLine(line);
    }
}

void warn(const std::vector<std::string>& sentences)
{
    for (const std::string& sentence : sentences) {
        base::sayErrorLine("retrograde-cli: warning: " + sentence);
    }
}

engine::StageProgress Context::progress() const
{
    if (quiet || isatty(STDERR_FILENO) == 0) {
        return {};
    }
    // At most one line per percent: a terminal is slower than the engine.
    return [last = std::string()](const std::string& stage, std::size_t done, std::size_t total) mutable {
        const std::size_t percent = total == 0 ? 0 : std::min<std::size_t>(100, done * 100 / total);
        std::string line = fmt::format("\r{:<10} {:3} %", stage, percent);
        if (line != last) {
            fmt::print(stderr, "{}", line);
            std::fflush(stderr);
            last = std::move(line);
        }
        if (stage == "relevance" && percent == 100) {
            fmt::print(stderr, "\r{:>20}\r", "");
        }
    };
}

base::ErrorCode errorCodeOf(int exitCode)
{
    using base::ErrorCode;
    for (const ErrorCode code : {ErrorCode::Usage, ErrorCode::Input, ErrorCode::Engine, ErrorCode::Output}) {
        if (exitCodeOf(code) == exitCode) {
            return code;
        }
    }
    return ErrorCode::Bug;
}

namespace
{

/// Sets the limit that was asked for. Errors: Usage.
Result<void> chooseMemory(const std::string& text)
{
    if (text.empty()) {
        return {};
    }
    RETRO_TRY(auto bytes, base::within(base::parseBytesOrShare(text, base::machineMemory().total), "--memory"));
    if (base::isShareText(text) && bytes > base::machineMemory().total) {
        return base::usageError("a share of the machine's memory is at most 100%", "--memory " + text);
    }
    if (bytes == 0) {
        return base::usageError("write at least one byte", "--memory " + text);
    }
    base::MemoryLimit::choose(bytes);
    return {};
}

/// A refusal by a node while the model ran, with the file of the model in front.
base::Error withModel(base::Error error, const CLI::App& verb)
{
    const CLI::Option* const model = verb.get_option_no_throw("MODEL");
    const std::string text = error.text();
    const bool isAtNode = text.starts_with("node '") || text.starts_with("'"); // a cell of the tape
    return isAtNode && model != nullptr && model->count() == 1
               ? base::within(std::move(error), model->as<std::string>())
               : error;
}

/// What a call will write, so that it is refused before anything runs. Errors (Usage): an input, the same file twice.
Result<void> promiseOutputs(const Context& context, const CLI::App& verb)
{
    std::vector<OutputOption> all = context.outputs;
    for (const engine::QuestionField& field : engine::questionFields()) {
        const CLI::Option* const option = verb.get_option_no_throw(fmt::format("--{}", field.name));
        const bool isKnown = std::ranges::find(all, option, &OutputOption::option) != all.end();
        if (!field.output.empty() && option != nullptr && !isKnown) {
            all.push_back({option, std::string(field.output)});
        }
    }
    const std::vector<const CLI::Option*> ofVerb = verb.get_options();
    for (const OutputOption& output : all) {
        const bool isOfVerb = std::ranges::find(ofVerb, output.option) != ofVerb.end();
        if (isOfVerb && output.option->count() > 0) {
            RETRO_CHECK(base::promiseOutput(output.option->results().front(), output.option->get_name(), output.what,
                                            output.isGrown));
        }
    }
    return {};
}

} // namespace

CLI::Option* addBytesOption(CLI::App& verb, const std::string& name, std::function<void(std::uint64_t)> take,
                            const std::string& description)
{
    return verb.add_option_function<std::string>(
        name,
        [name, take = std::move(take)](const std::string& text) {
            const auto parsed = base::parseBytes(text);
            if (!parsed.ok() || *parsed == 0) {
                throw CLI::ValidationError(name, parsed.ok() ? "write at least one byte" : parsed.error().message);
            }
            take(*parsed);
        },
        description);
}

CLI::Validator wholeNumber()
{
    return {[](std::string& text) {
                std::uint64_t number = 0;
                const char* const end = text.data() + text.size();
                const auto read = std::from_chars(text.data(), end, number);
                const bool isGood = read.ec == std::errc() && read.ptr == end;
                return isGood ? std::string() : fmt::format("write a whole number, 0 or more; \"{}\" is none", text);
            },
            "", "whole number"};
}

CLI::Validator finiteNumber(double least, double most)
{
    return {[least, most](std::string& text) {
                const base::Result<double> number = engine::readNumber(text);
                const bool isGood = number.ok() && *number >= least && *number <= most;
                return isGood ? std::string()
                       : most == std::numeric_limits<double>::max()
                           ? fmt::format("write a number of at least {}", least)
                           : fmt::format("write a number from {} to {}", least, most);
            },
            "", "number"};
}

CLI::Validator positiveNumber()
{
    return {[](std::string& text) {
                const base::Result<double> number = engine::readNumber(text);
                return number.ok() && *number > 0 ? std::string() : std::string("write a number above 0");
            },
            "", "number above 0"};
}

CLI::App* addVerb(CLI::App& program, Context& context, const std::string& name, const std::string& description,
                  std::function<Result<void>()> action)
{
    CLI::App* verb = program.add_subcommand(name, description);
    addCommonOptions(*verb, context, std::move(action));
    return verb;
}

void addCommonOptions(CLI::App& verb, Context& context, std::function<Result<void>()> action)
{
    verb.option_defaults()->group(kCommonGroup);
    verb.get_help_ptr()->group(kCommonGroup);
    verb.add_flag("--json", context.json, "Machine-readable result on standard output, messages on standard error");
    verb.add_flag("--md", context.isPage,
                  "The same answer as one page of Markdown: a table per question, a row per finding");
    verb.add_flag("--quiet", context.quiet, "No messages and no progress");
    verb.add_option("--threads", context.threads, "Threads to compute with (default: all)")->check(CLI::Range(1, 1024));
    verb.add_option("--precision", context.precision,
                    "auto (default): float64 where the model has float64 values, else float32, narrower types rounded "
                    "to; float: float32, also for float64 values; double: float64, and nothing is rounded")
        ->check(CLI::IsMember({"auto", "float", "double"}));
    verb.add_option("--memory", context.memory,
                    "What tensors may take: bytes such as 8GB or 1.5GiB, or a share of the machine's memory such as "
                    "50% (default 80%)");
    verb.option_defaults()->group("Options");
    verb.callback([&context, &verb, action = std::move(action)] {
        context.json = context.json || context.isPage;
        ops::setThreads(context.usedThreads());
        Result<void> done = base::caught([&]() -> Result<void> {
            RETRO_CHECK(chooseMemory(context.memory));
            base::holdAllThatIsRead();
            RETRO_CHECK(promiseOutputs(context, verb));
            return action();
        });
        if (done) {
            done = base::checkMappedFiles(); // what was only printed
        }
        if (!done) {
            context.fail(withModel(done.error(), verb));
        }
    });
}

void ModelOptions::addTo(CLI::App& verb, engine::Verb which, const Context& context)
{
    verb.add_option("MODEL", model, "Model file: " + formats::modelFormatsText())->required();
    constexpr unsigned kRunning =
        engine::kRun | engine::kGrad | engine::kVerify | engine::kExplain | engine::kEvaluate | engine::kDiagnose;
    if ((which & kRunning) != 0) {
        verb.add_option("INPUT", files, "Inputs, as --input takes them");
    }
    addQuestion(verb, which, question);
    m_context = (which & (engine::kRun | engine::kGrad)) != 0 ? &context : nullptr;
    verb.parse_complete_callback([this, &context] {
        question.precision = context.precision;
        question.inputs.insert(question.inputs.end(), files.begin(), files.end());
    });
}

Result<engine::LoadedModelPointer> ModelOptions::load() const
{
    RETRO_TRY(engine::LoadedModelPointer loaded, engine::loadModel(model, question));
    for (const rewrite::RewriteStep& step : loaded->rewritten.steps) {
        if (step.name == rewrite::kPassThrough) { // also with --quiet: the numbers are not the model's
            base::sayErrorLine("retrograde-cli: warning: " + step.text);
        }
    }
    return loaded;
}

Result<std::vector<tensor::Tensor>> ModelOptions::resolve(const engine::LoadedModel& loaded) const
{
    RETRO_TRY(std::vector<tensor::Tensor> inputs, engine::readInputs(question, loaded));
    if (m_context != nullptr) {
        sayPictures(*m_context, loaded, inputs);
        RETRO_TRY(const auto options, engine::pictureOptions(question, loaded));
        warn(engine::pictureWarnings(engine::picturesOf(question.inputs, *loaded.graph()), loaded, options));
    }
    return inputs;
}

Result<std::vector<tensor::Tensor>> ModelOptions::resolveOrZeros(const engine::LoadedModel& loaded) const
{
    return question.inputs.empty() ? engine::zerosFor(*loaded.graph()) : resolve(loaded);
}

void ModelOptions::sayPictures(const Context& context, const engine::LoadedModel& loaded,
                               const std::vector<tensor::Tensor>& inputs) const
{
    const auto options = engine::pictureOptions(question, loaded);
    const graph::Graph& graph = *loaded.graph();
    for (const std::string& line : engine::pictureLines(engine::picturesOf(question.inputs, graph), graph,
                                                        options ? *options : engine::PictureOptions(), inputs)) {
        context.say("pixels       " + line);
    }
}

} // namespace retro::app

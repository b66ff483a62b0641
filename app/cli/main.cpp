// SPDX-License-Identifier: Apache-2.0
#include "app/cli/gradientverbs.h"
#include "app/cli/ownprocesses.h"
#include "app/common/freedmemory.h"
#include "app/common/helptext.h"
#include "app/common/passivewaiting.h"
#include "core/base/editdistance.h"
#include "core/base/failure.h"
#include "core/base/memoryend.h"
#include "core/base/standardstreams.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <span>
#include <sstream>
#include <string>
#include <string_view>
#include <unistd.h>
#include <vector>

#include <CLI/CLI.hpp>

namespace retro::app
{

namespace
{

bool isOption(std::string_view word) { return word.starts_with("--") && word.size() > 2; }

/// Which verb or options of a call there are none of, and what was meant maybe; empty where all are known.
std::vector<std::string> guessesOf(const CLI::App& program, std::span<char* const> arguments)
{
    std::vector<std::string> guesses;
    const auto guess = [&](const std::string& lacking, std::string_view word, const std::vector<std::string>& known) {
        guesses.push_back(fmt::format("{} {}{}", lacking, word, base::guessText(word, known)));
    };
    std::vector<std::string> verbs;
    for (const CLI::App* verb : program.get_subcommands(nullptr)) {
        verbs.push_back(verb->get_name());
    }
    const std::string first = arguments.size() > 1 ? arguments[1] : "";
    if (std::ranges::find(verbs, first) == verbs.end()) {
        if (!first.empty() && !first.starts_with('-')) {
            guess("there is no verb", first, verbs);
        }
        return guesses;
    }
    const CLI::App& verb = *program.get_subcommand(first);
    std::vector<std::string> options;
    for (const CLI::Option* option : verb.get_options()) {
        for (const std::string& name : option->get_lnames()) {
            options.push_back("--" + name);
        }
    }
    for (const std::string_view word : arguments.subspan(2)) {
        const std::string name(word.substr(0, word.find('=')));
        if (isOption(name) && std::ranges::find(options, name) == options.end()) {
            guess(first + " has no option", name, options);
        }
    }
    return guesses;
}

/// "Usage: retrograde-cli compare [OPTIONS] A B" of the verb of a call; empty where there is none.
std::string usageOf(const CLI::App& program, std::span<char* const> words)
{
    const auto verbs = program.get_subcommands(
        [&words](const CLI::App* verb) { return words.size() > 1 && verb->get_name() == words[1]; });
    const std::string help = verbs.empty() ? std::string() : verbs.front()->help("retrograde-cli");
    const std::size_t begin = help.find("Usage:");
    return begin == std::string::npos ? std::string() : help.substr(begin, help.find("\n\n", begin) - begin);
}

/// Says on standard error what is wrong with a call: what was meant maybe, else the words of the library and how the
/// verb is used. With --json it is also the answer. The exit code.
int refuse(const CLI::ParseError& error, const CLI::App& program, const Context& context, std::span<char* const> words,
           const std::vector<std::string>& guesses)
{
    if (guesses.empty()) {
        std::ostringstream unread;
        program.exit(error, unread, std::cerr);
    }
    for (const std::string& guess : guesses) {
        base::sayErrorLine("retrograde-cli: " + guess);
    }
    if (const std::string usage = usageOf(program, words); guesses.empty() && !usage.empty()) {
        base::sayErrorLine(usage);
    }
    if (std::ranges::find(context.arguments, "--json") != context.arguments.end()) {
        const std::string remedy =
            guesses.empty() ? "--help lists what there is" : fmt::format("{}", fmt::join(guesses, "; "));
        context.answer({{"error", error.what()}, {"remedy", remedy}, {"place", ""}, {"exit", 2}});
    }
    return 2;
}

} // namespace

} // namespace retro::app

/// Before any library is loaded, see passivewaiting.h.
[[gnu::section(".preinit_array"),
  gnu::used]] static void (*beforeLibraries)(int, char**, char**) = &retro::app::PassiveWaiting::waitPassively;

namespace
{

/// Also where there is no memory left for a line of text.
void sayError(const retro::base::Error& error)
{
    try {
        retro::base::sayErrorLine("retrograde-cli: " + error.text());
    } catch (...) {
        std::fprintf(stderr, "retrograde-cli: %s%s%s\n", error.where.c_str(), error.where.empty() ? "" : ": ",
                     error.message.c_str());
    }
}

/// The exit code of the exception that is being handled, which is told first.
int codeOfException()
{
    const retro::base::Error error = retro::base::errorBeingHandled();
    if (!retro::base::finishOutput()) { // which is said in its own words
        return 0;
    }
    sayError(error);
    return retro::app::exitCodeOf(error.code);
}

void addVerbs(CLI::App& program, retro::app::Context& context)
{
    using namespace retro::app;
    addOps(program, context);
    addInfo(program, context);
    addRun(program, context);
    addExplain(program, context);
    addGrad(program, context);
    addVerify(program, context);
    addTrace(program, context);
    addAudit(program, context);
    addCompare(program, context);
    addDiagnose(program, context);
    addEvaluate(program, context);
    addExport(program, context);
    addLut(program, context);
    addAnalyze(program, context);
    addPlan(program, context);
    addSimulate(program, context);
}

/// The exit code; memory may end at any place.
int parseAndRun(int argc, char** argv)
{
    try {
        retro::app::Context context;
        context.arguments.assign(argv, argv + argc);
        CLI::App program("Retrograde without a window: explains what a network's prediction rests on, step by step.",
                         "retrograde-cli");
        program.set_version_flag("--version", std::string("retrograde-cli " RETRO_VERSION));
        program.formatter(std::make_shared<retro::app::HelpText>());
        program.require_subcommand(1);
        addVerbs(program, context);
        try {
            program.parse(argc, argv);
        } catch (const CLI::ParseError& error) {
            const std::span<char* const> words(argv, static_cast<std::size_t>(argc));
            const std::vector<std::string> guesses = retro::app::guessesOf(program, words);
            if (error.get_exit_code() != 0 || !guesses.empty()) { // also of a verb that is none, with --help
                return retro::app::refuse(error, program, context, words, guesses);
            }
            std::stringstream out;
            program.exit(error, out, std::cerr); // --help, --version
            for (std::string line; std::getline(out, line);) {
                retro::base::sayLine(line);
            }
            return 0;
        }
        return context.exitCode;
    } catch (...) {
        return codeOfException();
    }
}

} // namespace

int main(int argc, char** argv)
{
    retro::app::PassiveWaiting::giveBack(environ);
    retro::app::keepFreedMemory();
    using namespace retro::app;
    retro::base::prepareStreams();
    retro::base::endWithoutMemory(exitCodeOf(retro::base::ErrorCode::Memory));
    retro::base::endWithoutMemoryInLibraries(); // those that read pictures, and the C library itself
    if (!dieWithParent()) {
        return exitCodeOf(retro::base::ErrorCode::Cancelled);
    }
    int code = parseAndRun(argc, argv);
    if (const auto printed = retro::base::finishOutput(); !printed && code == 0) {
        retro::base::sayErrorLine("retrograde-cli: " + printed.error().text());
        code = exitCodeOf(printed.error().code);
    }
    if (code == exitCodeOf(retro::base::ErrorCode::Memory)) {
        // A library that memory left in the middle of making its own objects may wait for them for ever as it ends.
        std::fflush(nullptr);
        std::_Exit(code);
    }
    return code;
}

// SPDX-License-Identifier: Apache-2.0
// What tests ask again and again: is a result there, what is refused, what does a file hold. Included before every
// source of a test (sharedmain.h).
#pragma once

#include "core/base/result.h"

#include <QByteArray>
#include <QFile>
#include <QString>
#include <QTest>

#include <fmt/format.h>

#include <string>
#include <utility>

namespace retro::tests
{

/// Why there is nothing in a result; "" when something is.
template <class T>
std::string faultOf(const base::Result<T>& result)
{
    return result.ok() ? std::string() : result.error().text();
}
/// The same of a pointer or an optional.
template <class T>
std::string faultOf(const T& thing)
{
    return thing ? std::string() : std::string("there is nothing");
}

/// What was made. For helpers of tests: a program of tests ends when nothing was, and says why.
template <class T>
T made(base::Result<T> result)
{
    if (!result.ok()) {
        qFatal("%s", result.error().text().c_str());
    }
    return std::move(result).value();
}

/// What a file holds; the program of tests ends when it cannot be read.
inline QByteArray bytesIn(const QString& path)
{
    QFile file(path);
    if (!file.open(QIODevice::ReadOnly)) {
        qFatal("cannot read %s", qPrintable(path));
    }
    return file.readAll();
}

inline QString asText(const QString& text) { return text; }
inline QString asText(QLatin1String text) { return text; }
inline QString asText(const char* text) { return QString::fromUtf8(text); }
inline QString asText(const std::string& text) { return QString::fromStdString(text); }

/// Which of the words a text lacks, with the text; "" when it says all of them.
template <class Text, class... Words>
QString lackOf(const Text& text, const Words&... words)
{
    const QString said = asText(text);
    for (const QString& word : {asText(words)...}) {
        if (!said.contains(word)) {
            return QStringLiteral("\"%1\" is not in: %2").arg(word, said);
        }
    }
    return {};
}

inline bool isSaid(const base::Error& error, base::ErrorCode code) { return error.code == code; }
inline bool isSaid(const base::Error& error, const std::string& word)
{
    return error.text().find(word) != std::string::npos;
}
inline bool isSaid(const base::Error& error, const QString& word) { return isSaid(error, word.toStdString()); }
inline bool isSaid(const base::Error& error, const char* word) { return isSaid(error, std::string(word)); }

/// "" when the result is an error with everything that is wanted of it: its code, words of its text. Else what it is.
template <class T, class... Wanted>
std::string noRefusal(const base::Result<T>& result, const Wanted&... wanted)
{
    if (result.ok()) {
        return "it is not refused";
    }
    return (isSaid(result.error(), wanted) && ...)
               ? std::string()
               : fmt::format("code {}, {}", static_cast<int>(result.error().code), result.error().text());
}

} // namespace retro::tests

/// `auto name = expression;` of a result, a pointer or an optional in which something must be: else the test function
/// ends with what went wrong.
#define RETRO_MADE(name, ...)                                                                                          \
    auto name = __VA_ARGS__;                                                                                           \
    QVERIFY2(static_cast<bool>(name), retro::tests::faultOf(name).c_str())

/// Ends a test function with what went wrong when the result has not been made.
#define RETRO_OK(...)                                                                                                  \
    do {                                                                                                               \
        const auto& retroResult = __VA_ARGS__;                                                                         \
        QVERIFY2(retroResult.ok(), retro::tests::faultOf(retroResult).c_str());                                        \
    } while (false)

/// Ends a test function unless the result is an error with all that follows: RETRO_REFUSED(result, code, words …).
#define RETRO_REFUSED(...)                                                                                             \
    do {                                                                                                               \
        const std::string retroFault = retro::tests::noRefusal(__VA_ARGS__);                                           \
        QVERIFY2(retroFault.empty(), retroFault.c_str());                                                              \
    } while (false)

/// Ends a test function unless the text, which comes first, says all the words that follow.
#define RETRO_SAYS(...)                                                                                                \
    do {                                                                                                               \
        const QString retroLack = retro::tests::lackOf(__VA_ARGS__);                                                   \
        QVERIFY2(retroLack.isEmpty(), qPrintable(retroLack));                                                          \
    } while (false)

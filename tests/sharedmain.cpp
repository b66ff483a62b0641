// SPDX-License-Identifier: Apache-2.0
// The main() of a program that the tests of a folder share. It is started by the name of a test, through a link, or has
// that name as its first argument; the rest of the arguments are Qt Test's.
#include "tests/sharedmain.h"

#include <QCoreApplication>
#ifdef QT_WIDGETS_LIB
#include <QApplication>
#endif

#include <cstdio>
#include <string>
#include <string_view>
#include <vector>

namespace
{

struct Test
{
    std::string source; ///< without folder and ending
    retro::tests::Surrounding surrounding = retro::tests::Surrounding::Nothing;
    std::unique_ptr<QObject> (*make)() = nullptr;
};

std::vector<Test>& tests()
{
    static std::vector<Test> all;
    return all;
}

std::string stemOf(std::string_view path)
{
    path.remove_prefix(path.find_last_of('/') + 1);
    return std::string(path.substr(0, path.find('.')));
}

/// The test of this name: its source is called so, or by the end of it (`lutpathtest` of pathtest.cpp).
const Test* testOf(std::string_view name)
{
    const Test* best = nullptr;
    for (const Test& test : tests()) {
        if (name.ends_with(test.source) && (best == nullptr || test.source.size() > best->source.size())) {
            best = &test;
        }
    }
    return best == nullptr && tests().size() == 1 ? tests().data() : best;
}

int runIn(const Test& test, int argc, char** argv)
{
    const std::unique_ptr<QObject> object = test.make();
    return QTest::qExec(object.get(), argc, argv);
}

int run(const Test& test, int argc, char** argv)
{
    if (test.surrounding == retro::tests::Surrounding::Nothing) {
        return runIn(test, argc, argv);
    }
#ifdef QT_WIDGETS_LIB
    if (test.surrounding == retro::tests::Surrounding::Widgets) {
        QApplication application(argc, argv);
        QTEST_DISABLE_KEYPAD_NAVIGATION
        return runIn(test, argc, argv);
    }
#endif
    QCoreApplication application(argc, argv);
    QCoreApplication::setAttribute(Qt::AA_Use96Dpi, true);
    return runIn(test, argc, argv);
}

} // namespace

bool retro::tests::addTest(const char* source, Surrounding surrounding, std::unique_ptr<QObject> (*make)())
{
    ::tests().push_back({stemOf(source), surrounding, make});
    return true;
}

int main(int argc, char** argv)
{
    const Test* test = testOf(stemOf(argc > 0 ? argv[0] : ""));
    if (test == nullptr && argc > 1) {
        test = testOf(argv[1]);
        --argc;
        ++argv;
    }
    if (test == nullptr) {
        std::fputs("name a test of this program first:\n", stderr);
        for (const Test& one : tests()) {
            std::fprintf(stderr, "  %s\n", one.source.c_str());
        }
        return 2;
    }
    return run(*test, argc, argv);
}

// SPDX-License-Identifier: Apache-2.0
// Readers of tokenizer.json: what is refused and how, texts made to harm, and files that are broken at random. That ids
// are right is shown by golden_llm_tokenizers.
#include "core/text/tokeniser.h"
#include "core/base/failure.h"
#include "core/base/file.h"
#include "core/text/utf8.h"
#include "tests/goldenfiles.h"

#include <QtTest>

#include <random>

using namespace retro::text;
using retro::base::Result;

namespace
{

std::vector<std::filesystem::path> files()
{
    std::vector<std::filesystem::path> found;
    for (const auto& file : retro::tests::goldenFiles(retro::tests::goldenFolder("llm/tokenizers"))) {
        if (file.string().ends_with(".tokenizer.json")) {
            found.push_back(file);
        }
    }
    return found;
}

std::string contentsOf(const std::filesystem::path& file)
{
    return retro::base::readTextFile(file, kMostTokenizerBytes).value();
}

/// JSON with single quotes.
std::string json(QByteArray text) { return text.replace('\'', '"').toStdString(); }

/// A tokenizer.json of a few words with one more member.
QString problemOf(const QByteArray& member)
{
    const QByteArray contents = "{'model':{'type':'WordLevel','vocab':{'a':0,'b':1},'unk_token':'a'}," + member + "}";
    const auto read = Tokeniser::parse(json(contents), "t.json");
    return read.ok() ? QString() : QString::fromStdString(read.error().text());
}

std::string randomBytes(std::mt19937& draw, std::size_t most)
{
    std::string bytes(draw() % (most + 1), '\0');
    for (char& byte : bytes) {
        byte = static_cast<char>(draw());
    }
    return bytes;
}

/// Valid UTF-8 of characters that tokenisers treat each in its own way.
std::string randomText(std::mt19937& draw, std::size_t most)
{
    constexpr std::array<char32_t, 32> kCharacters{0x61,   0x42,   0x20,   0x20,   0x0A,   0x0D,   0x09,    0,
                                                   0x31,   0x2E,   0x27,   0x7F,   0x85,   0xA0,   0xAD,    0xDF,
                                                   0x130,  0x301,  0x323,  0x5D0,  0x627,  0x200D, 0x202E,  0x2581,
                                                   0x3000, 0x4E2D, 0xAC00, 0xFB01, 0xFEFF, 0xFFFD, 0x1F600, 0x10FFFF};
    std::string text;
    for (std::size_t count = draw() % (most + 1); count > 0; --count) {
        append(text, kCharacters[draw() % kCharacters.size()]);
    }
    return text;
}

/// Whether places are in the text and tokens are in the vocabulary.
bool isSound(const Tokeniser& tokeniser, const std::string& text, const std::vector<Token>& tokens)
{
    const std::size_t count = characterCount(text);
    return std::all_of(tokens.begin(), tokens.end(), [&](const Token& token) {
        return token.place.begin <= token.place.end && token.place.end <= count && token.id < tokeniser.size();
    });
}

} // namespace

class TokeniserTest : public QObject
{
    Q_OBJECT

private slots:
    void refused_data()
    {
        QTest::addColumn<QByteArray>("member");
        QTest::addColumn<QString>("problem");
        QTest::newRow("normaliser") << QByteArray("'normalizer':{'type':'Precompiled'}")
                                    << "the normaliser 'Precompiled' is not supported";
        QTest::newRow("inside") << QByteArray("'normalizer':{'type':'Sequence','normalizers':[{'type':'Nmt'}]}")
                                << "the normaliser 'Nmt' is not supported";
        QTest::newRow("pre-tokeniser") << QByteArray("'pre_tokenizer':{'type':'UnicodeScripts'}")
                                       << "the pre-tokeniser 'UnicodeScripts' is not supported";
        QTest::newRow("post-processor") << QByteArray("'post_processor':{'type':'Other'}")
                                        << "the post-processor 'Other' is not supported";
        QTest::newRow("no type") << QByteArray("'post_processor':{}") << "the post-processor has no \"type\"";
        QTest::newRow("expression") << QByteArray("'pre_tokenizer':{'type':'Split','pattern':{'Regex':'(a'}}")
                                    << "'(a' cannot be used";
        QTest::newRow("template")
            << QByteArray("'post_processor':{'type':'TemplateProcessing','single':[{'SpecialToken':{'id':'x'}}]}")
            << "the template names 'x'";
        for (const char* construct :
             {"a\\\\Kb", "\\\\X", "\\\\y", "\\\\G", "(?~a)", "(?<n>a)\\\\g<n>", "(?s:.)", "[[:foo:]]"}) {
            QTest::newRow(construct) << QByteArray("'pre_tokenizer':{'type':'Split','pattern':{'Regex':'") + construct +
                                            "'}}"
                                     << "which is not supported";
        }
    }
    void refused()
    {
        QFETCH(QByteArray, member);
        QFETCH(QString, problem);
        const QString said = problemOf(member);
        RETRO_SAYS(said, problem, "t.json, line 1");
    }

    void models()
    {
        const auto problem = [](const char* contents) {
            const auto read = Tokeniser::parse(json(contents), "t.json");
            return read.ok() ? QString() : QString::fromStdString(read.error().text());
        };
        QVERIFY(problem("{}").contains("this is no tokenizer.json"));
        QVERIFY(problem("{'model':{'type':'Other'}}").contains("the model 'Other' is not supported"));
        QVERIFY(problem("{'model':{'type':'BPE','vocab':{'a':0},'merges':['a b']}}").contains("not in the vocab"));
        QVERIFY(problem("{'model':{'type':'BPE','vocab':{'a':0},'merges':[],'dropout':0.1}}").contains("dropout"));
        QVERIFY(problem("{'model':{'type':'BPE','vocab':{'a':99999999},'merges':[]}}").contains("below"));
        QVERIFY(problem("{'model':{'type':'Unigram','vocab':[['a',1]],'unk_id':1}}").contains("unk_id"));
    }

    // Pieces that a Split with this expression makes, as the library makes them.
    void expressions_data()
    {
        QTest::addColumn<QByteArray>("expression");
        QTest::addColumn<QString>("text");
        QTest::addColumn<QString>("pieces");
        const auto row = [](const char* expression, const QString& text, const QString& pieces) {
            QTest::newRow(expression) << QByteArray(expression) << text << pieces;
        };
        row("\\w+|[^\\w\\s]+", QStringLiteral("10m\u00B2 is \u00BD."), QStringLiteral("10m\u00B2| |is| |\u00BD|."));
        row("[^\\w\\s]", QStringLiteral("a\u00BDb"), QStringLiteral("a|\u00BD|b"));
        row("[\\p{Word}]+", QStringLiteral("a\u00BD"), QStringLiteral("a|\u00BD"));
        row("[[:punct:]]", "a$b", "a|$|b");
        row("\\p{Punct}", "a$b!", "a$b|!");
        row("[[:xdigit:]]+", QStringLiteral("af\u0663"), QStringLiteral("af|\u0663"));
        row("\\b", QStringLiteral("a\u00B2 e\u0301f"), QStringLiteral("a\u00B2| |e\u0301f"));
        row("\\b", QStringLiteral("a\u200Db"), QStringLiteral("a|\u200D|b"));
        row("(?m).+", "a\nb", "a\nb");
        row("(?m:.)", "\r\n", "\r|\n");
        row("(?-m).+", "a\nb", "a|\n|b");
        row("(?i:\\p{Lu}+)", "aBc", "a|B|c");
        row("(?i)[\\p{Lu}]+", "aB1", "aB|1");
        row("x{1,2}+", "xxxx", "xxxx");
        row("x{2}?", "xxxx", "xx|xx");
        row("x{,2}y", "xxxy", "x|xxy");
        row("a(?i)b|c", "aB aC C", "aB| |aC| C");
        row("\\v", "a\v\nb", "a|\v|\nb");
        row("\\O", "a\n", "a|\n");
        row("\\N+", "a\nb", "a|\n|b");
        row("\\Q.\\E", "QaE.", "QaE|.");
        row("a\\Z", "a\ra\n", "a\r|a|\n");
        row("[]a]+", "[a]b", "[|a]|b");
        row("[\\w&&[^\\d]]+", "a1b", "a|1|b");
        row("(?x) a  b # c", "cab", "c|ab");
    }
    void expressions()
    {
        QFETCH(QByteArray, expression);
        QFETCH(QString, text);
        QFETCH(QString, pieces);
        const QByteArray escaped = QByteArray(expression).replace('\\', "\\\\");
        RETRO_MADE(read, Tokeniser::parse(json("{'model':{'type':'WordLevel','vocab':{'a':0},'unk_token':'a'},"
                                               "'pre_tokenizer':{'type':'Split','pattern':{'Regex':'" +
                                               escaped + "'},'behavior':'Isolated'}}"),
                                          "t.json"));
        QStringList made;
        const auto tokens = read->encode(text.toStdString());
        for (const Token& token : tokens.value()) {
            made << text.mid(token.place.begin, token.place.end - token.place.begin);
        }
        QCOMPARE(made.join('|'), pieces);
    }

    // Added tokens whose white space the one before has taken.
    void strippedIntoEachOther()
    {
        const auto idsOf = [](const QByteArray& first, const QByteArray& second, const std::string& text) {
            const QByteArray added =
                "{'model':{'type':'WordLevel','vocab':{'u':0},'unk_token':'u'},'added_tokens':[{'id':1,'content':'" +
                first + "','rstrip':true},{'id':2,'content':'" + second + "','lstrip':true}]}";
            QString ids;
            const auto tokens = Tokeniser::parse(json(added), "t.json").value().encode(text);
            for (const Token& token : tokens.value()) {
                ids += QString("%1:%2-%3 ").arg(token.id).arg(token.place.begin).arg(token.place.end);
            }
            return ids.trimmed();
        };
        QCOMPARE(idsOf("  ", "\\n", "a  \n b"), "0:0-1 1:1-5 0:5-6");
        QCOMPARE(idsOf("  ", "\\n", "a  \n  "), "0:0-1 1:1-6 1:4-6");
        QCOMPARE(idsOf("\\n", "  ", "a\n  b"), "0:0-1 1:1-4 0:4-5");
        QCOMPARE(idsOf("\\n", "  ", "\n  "), "1:0-3");
    }

    // Ids still come out; only texts of ids do not.
    void unknownDecoder()
    {
        RETRO_MADE(read,
                   Tokeniser::parse(
                       json("{'model':{'type':'WordLevel','vocab':{'a':0},'unk_token':'a'},'decoder':{'type':'CTC'}}"),
                       "t.json"));
        QCOMPARE(read->encode("a").value().size(), std::size_t{1});
        const std::vector<TokenId> ids{0};
        QVERIFY(read->decode(ids, false).error().text().find("the decoder 'CTC' is not supported") !=
                std::string::npos);
    }

    void invalidText()
    {
        const Tokeniser tokeniser = Tokeniser::read(files().front()).value();
        RETRO_REFUSED(tokeniser.encode("ab\xE2\x82"), "byte 0xe2 at offset 2");
        QCOMPARE(invalidUtf8("\xED\xA0\x80"), std::optional<std::size_t>(0)); // half of a surrogate pair
        QCOMPARE(invalidUtf8("a\xC0\x80"), std::optional<std::size_t>(1));    // longer than needed
        QCOMPARE(invalidUtf8("\xF4\x8F\xBF\xBF"), std::optional<std::size_t>());
        QCOMPARE(lossyUtf8("\xE2\x82z\xFF"), std::string("\xEF\xBF\xBDz\xEF\xBF\xBD"));
    }

    void anyText()
    {
        std::mt19937 draw(1);
        for (const auto& file : files()) {
            const Tokeniser tokeniser = Tokeniser::read(file).value();
            for (int i = 0; i < 400; ++i) {
                const std::string text = i % 2 == 0 ? randomText(draw, 60) : randomBytes(draw, 24);
                const Result<std::vector<Token>> tokens = tokeniser.encode(text);
                QCOMPARE(tokens.ok(), !invalidUtf8(text).has_value());
                if (tokens.ok()) {
                    QVERIFY(isSound(tokeniser, text, *tokens));
                }
                std::vector<TokenId> ids;
                for (const char byte : text) {
                    ids.push_back(static_cast<TokenId>(static_cast<unsigned char>(byte)) * 7919U % 1000U);
                }
                RETRO_MADE(decoded, tokeniser.decode(ids, i % 3 == 0));
                QVERIFY(!invalidUtf8(*decoded));
            }
        }
    }

    // The numbers are those of the tokenizers of Hugging Face: a template leaves its pieces apart.
    void processorsBehindEachOther_data()
    {
        QTest::addColumn<QByteArray>("processors");
        QTest::addColumn<QList<int>>("with");
        QTest::addColumn<QList<int>>("without");
        const auto made = [](const QByteArrayList& pieces) {
            QByteArrayList written;
            for (const QByteArray& piece : pieces) {
                written += (piece.size() == 1 ? "{'Sequence':{'id':'" : "{'SpecialToken':{'id':'") + piece + "'}}";
            }
            return written.join(",");
        };
        const auto withTemplate = [&made](const QByteArrayList& pieces) {
            return "{'type':'TemplateProcessing','single':[" + made(pieces) + "],'pair':[" +
                   made(pieces + QByteArrayList{"B"}) +
                   "],'special_tokens':{'c0':{'id':'c0','ids':[0],'tokens':['c0']},'s1':{'id':'s1','ids':[1],'tokens':"
                   "['s1']},'x4':{'id':'x4','ids':[4],'tokens':['x4']},'y5':{'id':'y5','ids':[5],'tokens':['y5']}}}";
        };
        const QByteArray around = withTemplate({"c0", "A", "s1"});
        const QByteArray bytes = "{'type':'ByteLevel','add_prefix_space':true,'trim_offsets':true,'use_regex':true}";
        const QByteArray bert = "{'type':'BertProcessing','sep':['y5',5],'cls':['x4',4]}";
        const QByteArray roberta =
            "{'type':'RobertaProcessing','sep':['s1',1],'cls':['c0',0],'trim_offsets':true,'add_prefix_space':true}";
        const QList<int> plain{2, 3};
        QTest::newRow("none") << QByteArray() << plain << plain;
        QTest::newRow("template") << around << QList<int>{0, 2, 3, 1} << plain;
        QTest::newRow("templates") << withTemplate({"c0", "A"}) + "," + bytes + "," + withTemplate({"x4", "A", "y5"})
                                   << QList<int>{4, 0, 5, 2, 3} << plain;
        QTest::newRow("three pieces") << around + "," + withTemplate({"x4", "A"}) << QList<int>{} << plain;
        QTest::newRow("no text") << withTemplate({"c0", "s1"}) + "," + withTemplate({"x4", "A", "y5"})
                                 << QList<int>{4, 0, 5, 1} << QList<int>{};
        QTest::newRow("Bert, template") << bert + "," + around << QList<int>{0, 4, 2, 3, 5, 1} << plain;
        QTest::newRow("template, Bert") << around + "," + bert << QList<int>{4, 0, 5, 2, 3, 5, 1, 5} << plain;
        QTest::newRow("Bert twice") << bert + "," + bert << QList<int>{4, 4, 2, 3, 5, 5} << plain;
        QTest::newRow("Roberta, bytes, Bert")
            << roberta + "," + bytes + "," + bert << QList<int>{4, 0, 2, 3, 1, 5} << plain;
        QTest::newRow("template, Roberta, Bert")
            << around + "," + roberta + "," + bert << QList<int>{4, 0, 0, 1, 5, 1, 2, 3, 1, 5, 1, 1, 1, 5} << plain;
        QTest::newRow("sequence inside") << "{'type':'Sequence','processors':[" + bert + "," + roberta + "]}," + around
                                         << QList<int>{0, 0, 4, 2, 3, 5, 1, 1} << plain;
        QTest::newRow("only the text") << withTemplate({"A"}) + "," + bert + "," + withTemplate({"A"})
                                       << QList<int>{4, 2, 3, 5} << plain;
    }
    void processorsBehindEachOther()
    {
        QFETCH(QByteArray, processors);
        RETRO_MADE(
            read,
            Tokeniser::parse(
                json("{'model':{'type':'WordLevel','vocab':{'c0':0,'s1':1,'a':2,'b':3,'x4':4,'y5':5},'unk_token':'a'},"
                     "'pre_tokenizer':{'type':'Whitespace'},'post_processor':{'type':'Sequence','processors':[" +
                     processors + "]}}"),
                "t.json"));
        for (const bool withSpecials : {true, false}) {
            const QList<int> wanted = *static_cast<const QList<int>*>(
                QTest::qData(withSpecials ? "with" : "without", qMetaTypeId<QList<int>>()));
            const auto tokens = read->encode("a b", withSpecials);
            if (wanted.isEmpty()) {
                RETRO_REFUSED(tokens, "a template takes one or two");
                continue;
            }
            RETRO_OK(tokens);
            QList<int> ids;
            for (const Token& token : *tokens) {
                ids += int(token.id);
            }
            QCOMPARE(ids, wanted);
        }
    }

    // Small files whose steps make much of a short text: said by name, before it is made.
    void growing_data()
    {
        QTest::addColumn<QByteArray>("member");
        QTest::addColumn<QString>("problem");
        const auto repeated = [](const QByteArray& part, int count) {
            QByteArray parts = part;
            for (int i = 1; i < count; ++i) {
                parts += "," + part;
            }
            return parts;
        };
        const auto sequence = [](const QByteArray& member, const QByteArray& list, const QByteArray& parts) {
            return "'" + member + "':{'type':'Sequence','" + list + "':[" + parts + "]}";
        };
        const QByteArray doubling = "{'type':'Replace','pattern':{'String':'a'},'content':'aa'}";
        const QString tooLong = "makes more than 48 MiB of this text";
        QTest::newRow("replacing") << sequence("normalizer", "normalizers", repeated(doubling, 60)) << tooLong;
        QTest::newRow("one large content")
            << "'normalizer':{'type':'Replace','pattern':{'String':'a'},'content':'" + QByteArray(1 << 20, 'x') + "'}"
            << tooLong;
        QTest::newRow("bytes of bytes") << sequence("normalizer", "normalizers",
                                                    "{'type':'Prepend','prepend':'\u00e4'}," +
                                                        repeated("{'type':'ByteLevel'}", 60))
                                        << tooLong;
        QTest::newRow("bytes of bytes in pieces")
            << sequence("pre_tokenizer", "pretokenizers", repeated("{'type':'ByteLevel','use_regex':false}", 60))
            << tooLong;
        QTest::newRow("many steps") << sequence("normalizer", "normalizers", repeated("{'type':'Lowercase'}", 501))
                                    << "it has 502 parts; at most 500 are read";
        QTest::newRow("an expression that tries every way")
            << QByteArray("'pre_tokenizer':{'type':'Split','pattern':{'Regex':'(a+)+!'}}") << "takes too long";
        const QByteArray slow = "{'type':'Split','pattern':{'Regex':'(a+)+!|'},'behavior':'Isolated'}";
        QTest::newRow("many such") << sequence("pre_tokenizer", "pretokenizers", repeated(slow, 240))
                                   << "takes too long";
    }
    void growing()
    {
        QFETCH(QByteArray, member);
        QFETCH(QString, problem);
        const QByteArray contents =
            "{'model':{'type':'WordLevel','vocab':{'a':0,'b':1},'unk_token':'a'}," + member + "}";
        const auto read = Tokeniser::parse(json(contents), "t.json");
        std::string text;
        while (text.size() < 200) {
            text += "aaaaaaaaaaaaaaaaaaaaaaaaa ";
        }
        const QString said =
            read.ok() ? QString::fromStdString(read->encode(text).ok() ? "" : read->encode(text).error().text())
                      : QString::fromStdString(read.error().text());
        QVERIFY2(said.contains(problem), qPrintable(said));
    }

    // So is what a template makes of a text.
    void templatesThatRepeatTheText()
    {
        QByteArray pieces = "{'Sequence':{'id':'A'}}";
        for (int i = 1; i < 200; ++i) {
            pieces += ",{'Sequence':{'id':'A'}}";
        }
        RETRO_MADE(read, Tokeniser::parse(
                             json("{'model':{'type':'WordLevel','vocab':{'a':0}},'pre_tokenizer':{'type':'Split','"
                                  "pattern':{'Regex':'.'},"
                                  "'behavior':'Isolated'},'post_processor':{'type':'TemplateProcessing','single':[" +
                                  pieces + "]}}"),
                             "t.json"));
        QCOMPARE(read->encode(std::string(1000, 'a'))->size(), 200'000U);
        RETRO_REFUSED(read->encode(std::string(100'000, 'a')), "makes more than 17825792 tokens");
    }

    // What is searched in is bounded, too.
    void longTokens()
    {
        const std::string text(9'000'000, 'a');
        const auto added =
            Tokeniser::parse(json("{'model':{'type':'WordLevel','vocab':{'a':0}},'added_tokens':[{'id':1,'content':'") +
                                 text + json("'}]}"),
                             "t.json");
        RETRO_REFUSED(added, "longer than 8 MB together");
    }

    // A file that was changed in a few bytes is read or refused, and what is read still answers.
    void brokenFiles()
    {
        std::mt19937 draw(2);
        for (const auto& file : files()) {
            const std::string contents = contentsOf(file);
            for (int i = 0; i < 60; ++i) {
                std::string broken = contents;
                for (int changes = 1 + static_cast<int>(draw() % 4); changes > 0; --changes) {
                    const std::size_t at =
                        draw() % (i % 2 == 0 ? std::min<std::size_t>(broken.size(), 3000) : broken.size());
                    constexpr std::string_view kBytes = "0129{}[]\",:ntx\\ ";
                    broken[at] = kBytes[draw() % kBytes.size()];
                }
                const auto read = retro::base::caught([&] { return Tokeniser::parse(broken, "broken.json"); });
                if (read.ok()) {
                    const std::string text = randomText(draw, 40);
                    const auto tokens = read->encode(text);
                    QVERIFY(!tokens.ok() || isSound(*read, text, *tokens));
                }
            }
        }
    }

    // Neither deep recursion nor a cost that grows with the square.
    void longRuns()
    {
        for (const auto& file : files()) {
            const Tokeniser tokeniser = Tokeniser::read(file).value();
            for (const char* const one : {" ", "a", "\n", "\xCC\x81", "\xF0\x9F\x98\x80", " \n", "<s>"}) {
                std::string text;
                while (text.size() < 200'000) {
                    text += one;
                }
                RETRO_MADE(tokens, tokeniser.encode(text));
                QVERIFY(isSound(tokeniser, text, *tokens));
            }
        }
    }
};

QTEST_APPLESS_MAIN(TokeniserTest)
#include "tokenisertest.moc"

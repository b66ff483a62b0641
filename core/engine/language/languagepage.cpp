// SPDX-License-Identifier: Apache-2.0
#include "core/engine/language/languagepage.h"

#include "core/base/jsonout.h"
#include "core/base/visibletext.h"
#include "core/text/utf8.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <charconv>
#include <cmath>

namespace retro::engine
{

namespace
{

constexpr const char* kStyle = R"(
:root{color-scheme:light dark;--base:#ffffff;--text:#1a1d21;--text2:#5c636b;--line:#d9dde2;--alt:#f3f5f7;
--pos:178,24,43;--neg:33,102,172}
@media (prefers-color-scheme: dark){:root{--base:#16181b;--text:#e8eaed;--text2:#9aa1a9;--line:#34393f;--alt:#1f2226;
--pos:239,108,100;--neg:103,169,235}}
body{font:15px/1.5 Inter,"Noto Sans","DejaVu Sans",sans-serif;color:var(--text);background:var(--base);
max-width:1080px;margin:32px auto;padding:0 24px}
h1{font-size:22px;line-height:1.25;margin:0 0 8px;overflow-wrap:anywhere}
h2{font-size:16px;margin:28px 0 8px}
p{margin:6px 0;color:var(--text2)}
.words{white-space:pre-wrap;overflow-wrap:anywhere;font-size:18px;line-height:2;color:var(--text);margin:16px 0}
.t{border-radius:3px;padding:2px 0;text-decoration-thickness:2px;text-underline-offset:5px}
.t.p{text-decoration-line:underline;text-decoration-style:solid}
.t.n{text-decoration-line:underline;text-decoration-style:dotted}
.t.at{outline:2px solid var(--text2);outline-offset:1px}
.t.s{color:var(--text2)}
.t.off{opacity:.45}
button{font:inherit;font-size:13px;color:var(--text);background:var(--alt);border:1px solid var(--line);
border-radius:6px;padding:3px 10px;margin:0 6px 6px 0;cursor:pointer;max-width:20em;overflow:hidden;
text-overflow:ellipsis;white-space:nowrap}
button[aria-pressed="true"]{border-color:var(--text);font-weight:600}
.wide{overflow-x:auto}
canvas{display:block;image-rendering:pixelated}
table{border-collapse:collapse;font-size:13px}
th,td{text-align:left;padding:2px 14px 2px 0;border-bottom:1px solid var(--line);white-space:pre}
td.f{text-align:right;font-family:"JetBrains Mono","DejaVu Sans Mono",monospace;font-size:12px}
th{color:var(--text2);font-weight:500}
)";

/// Written between //<![CDATA[ and //]]>: XML leaves it alone, and HTML sees a comment.
constexpr const char* kScript = R"(
const data=JSON.parse(document.getElementById('data').textContent);
const words=[...document.querySelectorAll('.t')];
const buttons=[...document.querySelectorAll('button')];
const dark=matchMedia('(prefers-color-scheme: dark)');
let shown=0;
const css=name=>getComputedStyle(document.documentElement).getPropertyValue(name).trim();
const wordAt=token=>words[data.words.findIndex(([first,count])=>token<first+count)];
const largest=row=>row.reduce((m,r)=>Math.max(m,Math.abs(r)),0);
function tint(r,most){
  const a=most>0?Math.min(1,Math.abs(r)/most):0;
  return 'rgba('+css(r>=0?'--pos':'--neg')+','+(0.75*a).toFixed(3)+')';
}
function show(k){
  shown=k;
  const one=data.rows[k],all=one.relevance.reduce((s,r)=>s+Math.abs(r),0);
  const sums=data.words.map(([first,count])=>one.relevance.slice(first,first+count).reduce((s,r)=>s+r,0));
  const most=largest(sums);
  words.forEach((w,i)=>{
    const [first,count]=data.words[i],there=first<one.relevance.length,r=sums[i];
    w.style.backgroundColor=there?tint(r,most):'transparent';
    const strong=there&&most>0&&Math.abs(r)>=0.05*most;
    w.classList.toggle('p',strong&&r>0);
    w.classList.toggle('n',strong&&r<0);
    w.classList.toggle('off',!there);
    w.classList.toggle('at',one.position>=first&&one.position<first+count);
    w.title=there?first+': '+r.toPrecision(4)+', '+(all>0?(100*Math.abs(r)/all).toFixed(1):'0')+' %':'';
  });
  buttons.forEach((b,i)=>b.setAttribute('aria-pressed',i===k?'true':'false'));
  document.getElementById('asked').textContent=one.title;
  paint();
  list();
}
buttons.forEach((b,i)=>b.addEventListener('click',()=>show(i)));
dark.addEventListener('change',()=>show(shown));
const canvas=document.getElementById('layers'),h=14;
const columnWidth=columns=>Math.max(1,Math.min(22,Math.floor(16000/columns)));
function paint(){
  const layers=data.rows[shown].layers;
  if(!canvas||!layers)return;
  const rows=layers.length,columns=layers[0].length,w=columnWidth(columns);
  canvas.width=w*columns;
  canvas.height=h*rows;
  const c=canvas.getContext('2d');
  layers.forEach((row,y)=>{
    const most=largest(row);
    row.forEach((r,x)=>{c.fillStyle=tint(r,most);c.fillRect(x*w,(rows-1-y)*h,w,h);});
  });
}
if(canvas){
  canvas.addEventListener('mousemove',e=>{
    const layers=data.rows[shown].layers;
    if(!layers)return;
    const columns=layers[0].length,rows=layers.length,w=columnWidth(columns);
    const x=Math.floor(e.offsetX/w),y=rows-1-Math.floor(e.offsetY/h);
    if(x>=0&&x<columns&&y>=0&&y<rows){
      document.getElementById('cell').textContent=
        'Layer '+y+', token '+x+' '+wordAt(x).textContent.trim()+': '+layers[y][x].toPrecision(4)+'.';
    }
  });
}
const layer=document.getElementById('layer'),head=document.getElementById('head');
function list(){
  const table=document.getElementById('links');
  if(!table)return;
  const sums=new Map();
  (data.rows[shown].links||[]).forEach(([l,k,query,key,r])=>{
    if(l===+layer.value&&(head.value==='all'||k===+head.value)){
      const ends=query+' '+key;
      sums.set(ends,(sums.get(ends)||0)+r);
    }
  });
  const most=[...sums].sort((a,b)=>Math.abs(b[1])-Math.abs(a[1])).slice(0,40);
  table.replaceChildren(...most.map(([ends,r])=>{
    const [query,key]=ends.split(' ').map(Number),row=document.createElement('tr');
    [query+' '+wordAt(query).textContent.trim(),key+' '+wordAt(key).textContent.trim(),r.toPrecision(4)]
      .forEach((text,i)=>{
        const cell=document.createElement('td');
        cell.textContent=text;
        if(i===2){cell.className='f';cell.style.backgroundColor=tint(r,Math.abs(most[0][1]));}
        row.append(cell);
      });
    return row;
  }));
}
[layer,head].forEach(choice=>{if(choice)choice.addEventListener('change',list);});
show(0);
)";

nlohmann::json numbersJson(const std::vector<double>& numbers)
{
    nlohmann::json list = nlohmann::json::array();
    for (const double number : numbers) {
        list.push_back(std::isfinite(number) ? number : 0.0);
    }
    return list;
}

/// Left as JSON inside an element: no text of JSON ends it.
std::string dataText(const nlohmann::json& data) { return xmlText(base::jsonOut(data)); }

std::string shownWord(const std::string& word)
{
    const bool isBlank = word.find_first_not_of(" \t\r\n") == std::string::npos;
    if (isBlank) {
        std::string shown = lineText(word);
        return shown + (word.find('\n') != std::string::npos ? "\n" : "");
    }
    return word;
}

/// Tokens that are shown as one: those of parts of a character together.
struct PageWord
{
    std::size_t first = 0;
    std::size_t count = 1;
    std::string text;
};

/// The bytes of a token that is shown as "⟨E2 82⟩"; none of any other.
std::string bytesShownBy(const std::string& text)
{
    constexpr std::string_view kOpen = "⟨";
    constexpr std::string_view kClose = "⟩";
    std::string bytes;
    if (!text.starts_with(kOpen) || !text.ends_with(kClose)) {
        return bytes;
    }
    const std::string digits = text.substr(kOpen.size(), text.size() - kOpen.size() - kClose.size());
    for (std::size_t at = 0; at + 2 <= digits.size(); at += 3) {
        unsigned byte = 0;
        const auto read = std::from_chars(digits.data() + at, digits.data() + at + 2, byte, 16);
        if (read.ptr != digits.data() + at + 2) {
            return {};
        }
        bytes.push_back(static_cast<char>(byte));
    }
    return bytes;
}

std::vector<PageWord> pageWords(const std::vector<LanguageToken>& tokens)
{
    std::vector<PageWord> words;
    for (std::size_t i = 0; i < tokens.size();) {
        PageWord word{i, 1, tokens[i].text};
        std::string bytes = bytesShownBy(tokens[i].text);
        for (std::size_t end = i + 1; !bytes.empty() && end <= tokens.size(); ++end) {
            if (!text::invalidUtf8(bytes)) {
                word.count = end - i;
                word.text = bytes;
                break;
            }
            const std::string more = end < tokens.size() ? bytesShownBy(tokens[end].text) : std::string();
            bytes = more.empty() ? std::string() : bytes + more;
        }
        i += word.count;
        words.push_back(std::move(word));
    }
    return words;
}

/// Between the text of an encoder and that of its decoder.
constexpr const char* kNextText = "</div>\n<div class=\"words\" dir=\"auto\">";

std::string wordSpan(const PageWord& word, const std::string& title, bool isGenerated)
{
    const bool isBlank = word.text.find_first_not_of(" \t\r\n") == std::string::npos;
    return fmt::format("<span class=\"t{}{}\" title=\"{}\">{}</span>", isBlank ? " s" : "", isGenerated ? " off" : "",
                       xmlText(title), xmlText(shownWord(word.text)));
}

std::string titleOf(const LanguageReport& report)
{
    return report.position < 0 ? report.otherTarget : againstText(report.target, report.contrast);
}

/// Layers and links of what a button shows, as far as they are known.
void addLayers(const LayerParts& parts, nlohmann::json& row)
{
    if (parts.layers.isValid()) {
        const std::int64_t tokens = parts.layers.shape()[1];
        for (std::int64_t i = 0; i < parts.layers.shape()[0]; ++i) {
            std::vector<double> layer;
            for (std::int64_t k = 0; k < tokens; ++k) {
                layer.push_back(parts.layers.at(i * tokens + k));
            }
            row["layers"].push_back(numbersJson(layer));
        }
    }
    for (const trace::TextLink& link : parts.links) {
        row["links"].push_back({link.layer, link.head, link.query, link.key, link.relevance});
    }
}

/// Lists to choose an attention and a head, and the table of its largest links; empty where there are none.
std::string linksSection(const LanguageReport& report)
{
    if (report.links.empty() || !report.heads.isValid()) {
        return {};
    }
    const auto choice = [](const char* id, const std::string& first, const char* name, std::int64_t count) {
        std::string options = first;
        for (std::int64_t i = 0; i < count; ++i) {
            options += fmt::format("<option value=\"{0}\">{1} {0}</option>", i, name);
        }
        return fmt::format("<select id=\"{}\">{}</select> ", id, options);
    };
    return "<h2>Attention</h2>\n<p>The relevance that one token handed to another one through an attention, the 40 "
           "largest.</p>\n<div>" +
           choice("layer", {}, "layer", report.heads.shape()[0]) +
           choice("head", "<option value=\"all\">all heads</option>", "head", report.heads.shape()[2]) +
           "</div>\n<div class=\"wide\"><table><thead><tr><th>from</th><th>to</th><th>relevance</th></tr></thead>"
           "<tbody id=\"links\"></tbody></table></div>\n";
}

/// What each button shows; the first is the question itself.
nlohmann::json pageRows(const LanguageReport& report)
{
    const auto row = [&report](const std::string& name, const std::string& title, std::int64_t position,
                               const std::vector<double>& relevance, const LayerParts& parts) {
        const std::int64_t place = position < 0 ? position : position + static_cast<std::int64_t>(report.source);
        nlohmann::json made{
            {"name", name}, {"title", title}, {"position", place}, {"relevance", numbersJson(relevance)}};
        addLayers(behindTokens(parts, report.source), made);
        return made;
    };
    nlohmann::json rows = nlohmann::json::array();
    rows.push_back(row(titleOf(report), fmt::format("{}, score {:.6g}", titleOf(report), report.score), report.position,
                       report.relevance, report));
    for (const OtherAnswer& other : report.others) {
        rows.push_back(row(other.title, other.title, report.position, other.relevance, {}));
    }
    for (std::size_t i = 0; i < report.generated.size(); ++i) {
        const GeneratedStep& step = report.generated[i];
        rows.push_back(
            row(fmt::format("{}: {}", i, lineText(step.token.text.empty() ? step.token.quoted() : step.token.text)),
                fmt::format("step {}: {}, score {:.6g}", i, step.token.quoted(), step.token.score), step.position,
                step.relevance, step.parts));
    }
    for (const PositionAnswer& answer : report.positions) {
        const std::string& word = answer.token.text;
        rows.push_back(
            row(fmt::format("at {}: {}", answer.position, lineText(word.empty() ? answer.token.quoted() : word)),
                fmt::format("position {}: {}, score {:.6g}", answer.position,
                            againstText(answer.token, answer.contrast), answer.score),
                answer.position, answer.relevance, answer.parts));
    }
    return rows;
}

std::string tokenTable(const LanguageReport& report)
{
    std::string table = "<table><thead><tr><th>position</th><th>token</th><th>id</th><th>relevance</th><th>share</th>"
                        "</tr></thead><tbody>\n";
    const std::vector<double> shares = report.shares();
    for (std::size_t i = 0; i < report.shown(); ++i) {
        table += fmt::format("<tr><td class=\"f\">{}</td><td dir=\"auto\">{}</td><td class=\"f\">{}</td>"
                             "<td class=\"f\">{:+.6g}</td><td class=\"f\">{:.1f} %</td></tr>\n",
                             report.placeOf(i), xmlText(lineText(report.tokens[i].text)), report.tokens[i].id,
                             report.relevance[i], 100 * std::abs(shares[i]));
    }
    return table + "</tbody></table>";
}

} // namespace

std::string xmlText(std::string_view text)
{
    std::string escaped;
    for (const char c : base::visibleText(text, base::LineEnds::Kept)) {
        switch (c) {
        case '&':
            escaped += "&amp;";
            break;
        case '<':
            escaped += "&lt;";
            break;
        case '>':
            escaped += "&gt;";
            break;
        case '"':
            escaped += "&quot;";
            break;
        case '\'':
            escaped += "&#39;";
            break;
        default:
            escaped.push_back(c);
        }
    }
    return escaped;
}

std::string languagePage(const LanguageReport& report)
{
    const nlohmann::json rows = pageRows(report);
    nlohmann::json data{{"rows", rows}};
    std::vector<LanguageToken> tokens(report.tokens.begin(), report.tokens.begin() + std::ssize(report.tokens) -
                                                                 static_cast<std::ptrdiff_t>(report.padding));
    tokens.insert(tokens.end(), report.generatedTokens.begin(), report.generatedTokens.end());
    std::string words;
    const std::vector<double> shares = report.shares();
    for (const PageWord& word : pageWords(tokens)) {
        words += report.source > 0 && word.first == report.source ? kNextText : "";
        const bool isGenerated = word.first >= report.shown();
        double sum = 0;
        double share = 0;
        for (std::size_t i = word.first; !isGenerated && i < std::min(word.first + word.count, report.relevance.size());
             ++i) {
            sum += report.relevance[i];
            share += std::abs(shares[i]);
        }
        data["words"].push_back({word.first, word.count});
        words += wordSpan(
            word, isGenerated ? "" : fmt::format("{}: {:.4g}, {:.1f} %", report.placeOf(word.first), sum, 100 * share),
            isGenerated);
    }
    std::string buttons;
    for (std::size_t i = 0; rows.size() > 1 && i < rows.size(); ++i) {
        buttons += fmt::format("<button type=\"button\" aria-pressed=\"{}\">{}</button>", i == 0 ? "true" : "false",
                               xmlText(rows[i]["name"].get<std::string>()));
    }
    std::string page = "<!DOCTYPE html>\n<html xmlns=\"http://www.w3.org/1999/xhtml\" lang=\"en\">\n<head>\n"
                       "<meta charset=\"utf-8\"/>\n<meta name=\"viewport\" content=\"width=device-width, "
                       "initial-scale=1\"/>\n";
    page += fmt::format("<title>{}</title>\n<style>{}</style>\n</head>\n<body>\n", xmlText(titleOf(report)), kStyle);
    page += fmt::format("<h1 id=\"asked\" dir=\"auto\">{}</h1>\n",
                        xmlText(fmt::format("{}, score {:.6g}", titleOf(report), report.score)));
    page +=
        fmt::format("<p>{}, {}: {:.6g} started, {:.6g} reached the tokens. A line below a word: drawn, it speaks for "
                    "the answer; dotted, against it.</p>\n",
                    xmlText(report.model), xmlText(report.composite), report.started, report.reached);
    page += buttons.empty() ? std::string() : fmt::format("<div>{}</div>\n", buttons);
    page += fmt::format("<div class=\"words\" dir=\"auto\">{}</div>\n", words);
    if (report.layers.isValid()) {
        page += "<h2>Tokens and layers</h2>\n<p>The residual stream that enters each layer, from the embedding at the "
                "bottom to the last layer at the top; each row by its own largest. <span id=\"cell\"></span></p>\n"
                "<div class=\"wide\"><canvas id=\"layers\"></canvas></div>\n";
    }
    page += linksSection(report);
    page += "<h2>Tokens</h2>\n<div class=\"wide\">" + tokenTable(report) + "</div>\n";
    page += fmt::format("<div id=\"data\" hidden=\"hidden\">{}</div>\n", dataText(data));
    page += fmt::format("<script>\n//<![CDATA[\n{}//]]>\n</script>\n</body>\n</html>\n", kScript);
    return page;
}

} // namespace retro::engine

-- A session of an editor with gc's language server: nvim --headless -u NONE -l is newer than Debian's, so
--   nvim --headless -u NONE -c 'luafile editor.lua'   in a folder with net.g and used.g, GC in the environment.
-- Prints one line an answer; the test compares them.
local function fail(what)
  io.stdout:write('FAILED: ' .. what .. '\n')
  vim.cmd('cquit')
end

vim.cmd('edit net.g')
local buf = vim.api.nvim_get_current_buf()
local published = {}
local id = vim.lsp.start_client({
  name = 'gc',
  cmd = { vim.env.GC, '--lsp' },
  root_dir = vim.fn.getcwd(),
  handlers = {
    ['textDocument/publishDiagnostics'] = function(_, result)
      published[vim.fn.fnamemodify(vim.uri_to_fname(result.uri), ':t')] = result.diagnostics
    end,
  },
})
if not id or not vim.lsp.buf_attach_client(buf, id) then fail('no server') end

local function wait_for(what, test)
  if not vim.wait(20000, test, 10) then fail(what) end
end
local function say(...)
  io.stdout:write(table.concat({ ... }, ' ') .. '\n')
end
local function ask(method, params)
  params = params or {}
  params.textDocument = vim.lsp.util.make_text_document_params(buf)
  local answers = vim.lsp.buf_request_sync(buf, method, params, 20000)
  if not answers or not answers[id] then fail(method .. ' was not answered') end
  if answers[id].error then fail(method .. ': ' .. answers[id].error.message) end
  return answers[id].result
end
-- the place of a word, the n-th of its line (from 1)
local function place(line, word)
  local text = vim.api.nvim_buf_get_lines(buf, line - 1, line, true)[1]
  local at = text:find(word, 1, true)
  if not at then fail('line ' .. line .. ' has no ' .. word) end
  return { position = { line = line - 1, character = vim.str_utfindex(text, at - 1) } }
end
local function hover(line, word)
  local r = ask('textDocument/hover', place(line, word))
  if r == vim.NIL or not r then return say('hover', word, 'nothing') end
  local text = r.contents.value:gsub('```gc\n', ''):gsub('\n```', ''):gsub('%s*\n', ' | ')
  say('hover', word, '->', (text:gsub(' | $', '')))
end
local function definition(line, word)
  local r = ask('textDocument/definition', place(line, word))
  if r == vim.NIL or not r then return say('definition', word, 'nothing') end
  local name = vim.fn.fnamemodify(vim.uri_to_fname(r.uri), ':t')
  say('definition', word, '->', name .. ':' .. r.range.start.line + 1 .. ':' .. r.range.start.character + 1)
end
local function complete(line, word)
  local at = place(line, word)
  at.position.character = at.position.character + #word
  local labels = {}
  for i, item in ipairs(ask('textDocument/completion', at).items) do
    if i <= 8 then labels[i] = item.label end
  end
  say('complete', word, '->', table.concat(labels, ' '))
end
local function diagnostics(file)
  for _, d in ipairs(published[file]) do
    say('diagnostic', file .. ':' .. d.range.start.line + 1 .. ':' .. d.range.start.character + 1, d.severity,
      (d.message:gsub('\n', ' | ')))
  end
  say('diagnostics of', file, #published[file])
end

wait_for('no diagnostics', function() return published['net.g'] end)
diagnostics('net.g')
hover(7, 'linear')
hover(7, 'hidden')
hover(12, 'loss')
hover(13, 'rate')
hover(14, 'loss')
definition(7, 'wide')
definition(7, 'x')
definition(12, 'net')
definition(13, 'rate')
definition(7, 'linear')
complete(7, 'linear(')
complete(12, 'mean(xent(')
complete(7, 'linear(x, wi')
published = {}
vim.api.nvim_buf_set_lines(buf, 6, 7, true, { '  hidden = relu(x |> linear(bias = true, , init = he) as first)' })
complete(7, 'bias = true, ')
wait_for('no diagnostics of the gap', function() return published['net.g'] end) -- else the next wait takes them for its own
diagnostics('net.g')

-- a mistake, and its repair
published = {}
vim.api.nvim_buf_set_lines(buf, 6, 7, true, { '  y = "é"; hidden = rely(x)' })
wait_for('no diagnostics of the mistake', function() return published['net.g'] end)
diagnostics('net.g')
definition(12, 'net')
published = {}
vim.api.nvim_buf_set_lines(buf, 6, 7, true, { '  hidden=relu( linear(x,wide) )' })
wait_for('no diagnostics of the repair', function() return published['net.g'] end)
diagnostics('net.g')
vim.lsp.buf.formatting_sync({}, 20000)
say('formatted', vim.api.nvim_buf_get_lines(buf, 6, 7, true)[1])
say('formatted again', #ask('textDocument/formatting', { options = {} }))
for _, s in ipairs(ask('textDocument/documentSymbol')) do
  say('symbol', s.name, s.range.start.line + 1, s.range['end'].line + 1)
end
vim.lsp.stop_client(id)
wait_for('the server does not end', function() return vim.lsp.client_is_stopped(id) end)
say('done')
vim.cmd('quitall!')
